"""A deterministic chat model that drives unmodified agent graphs: no network, no key.

A policy decides each turn from the conversation alone, so one instance serves any number of
concurrent runs, and the same conversation always gets the same reply, tool-call ids included.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypedDict

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LangSmithParams
from langchain_core.language_models.base import LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from typing_extensions import override

from assay_agentkit.failures import AgentFailed
from assay_agentkit.models import ModelSettings, open_provider_model
from assay_agentkit.worker_process import TookTooLong, call_in_worker
from assay_rehearsal.conversation import Policy, Reply, Turn

REHEARSAL_PROVIDER: Final = "rehearsal"
REHEARSAL_VERSION: Final = "1"
REPLY_SECONDS: Final = 30.0
"""For one reply of a policy that reads skills."""
REHEARSAL_MODEL: Final = f"{REHEARSAL_PROVIDER}:{REHEARSAL_VERSION}"


class _Function(TypedDict):
    name: str


class _BoundTool(TypedDict):
    """What is read of a tool's schema in OpenAI's form."""

    function: _Function


class RehearsalModel(BaseChatModel):
    """Chat model whose replies come from a policy."""

    policy: Policy
    reads_skills: bool = False
    """Whether the policy works on a skill's text: then it replies from a process of its own."""
    model_name: str = REHEARSAL_VERSION

    @property
    @override
    def _llm_type(self) -> str:
        return REHEARSAL_PROVIDER

    @override
    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: object) -> LangSmithParams:
        return LangSmithParams(
            ls_provider=REHEARSAL_PROVIDER, ls_model_name=self.model_name, ls_model_type="chat"
        )

    @override
    def bind_tools(
        self,
        tools: Sequence[Mapping[str, object] | type | Callable[..., object] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: object,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        schemas = [
            tool if isinstance(tool, Mapping) else convert_to_openai_tool(tool) for tool in tools
        ]
        return self.bind(tools=schemas, tool_choice=tool_choice, **kwargs)

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        *,
        tools: Sequence[_BoundTool] | None = None,
        **kwargs: object,
    ) -> ChatResult:
        return _result(self.policy(_turn(messages, tools)), messages)

    @override
    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        *,
        tools: Sequence[_BoundTool] | None = None,
        **kwargs: object,
    ) -> ChatResult:
        if not self.reads_skills:
            # The policy computes and never waits: a hop would cost more than the reply.
            return self._generate(messages, stop, None, tools=tools, **kwargs)
        try:
            reply = await call_in_worker(self.policy, _turn(messages, tools), seconds=REPLY_SECONDS)
        except TookTooLong as error:
            raise AgentFailed(
                "timeout", f"Reading the skill took longer than {REPLY_SECONDS:g} s: {error}."
            ) from error
        return _result(reply, messages)


def _turn(messages: Sequence[BaseMessage], tools: Sequence[_BoundTool] | None) -> Turn:
    names = tuple(tool["function"]["name"] for tool in tools or ())
    return Turn(messages=tuple(messages), tools=names)


def _result(reply: Reply, messages: Sequence[BaseMessage]) -> ChatResult:
    message = _as_message(reply, turn=sum(isinstance(m, AIMessage) for m in messages))
    return ChatResult(generations=[ChatGeneration(message=message)])


def _as_message(reply: Reply, *, turn: int) -> AIMessage:
    return AIMessage(
        content=reply.text,
        tool_calls=[
            ToolCall(
                name=call.name,
                args=dict(call.arguments),
                id=f"call_{turn}_{index}",
                type="tool_call",
            )
            for index, call in enumerate(reply.calls)
        ],
        usage_metadata={"input_tokens": 0, "output_tokens": 0, "total_tokens": 0},
    )


def open_model(
    spec: str | None,
    *,
    policy: Policy,
    settings: ModelSettings | None = None,
    reads_skills: bool = False,
) -> BaseChatModel:
    """The model that `spec` names, or the rehearsal model driven by `policy` if it names none.

    Raises:
        ModelMisconfigured: the provider is unknown, not installed, or lacks its key.
    """
    if not spec:
        return RehearsalModel(policy=policy, reads_skills=reads_skills)
    return open_provider_model(spec, settings=settings)


def model_label(spec: str | None) -> str:
    """How reports name the model: the setting as given, or the rehearsal's own name."""
    return spec or REHEARSAL_MODEL
