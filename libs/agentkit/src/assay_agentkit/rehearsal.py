"""A deterministic chat model that drives unmodified agent graphs: no network, no key.

A policy decides each turn from the conversation alone, so one instance serves any number of
concurrent runs, and the same conversation always gets the same reply, tool-call ids included.
"""

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LangSmithParams
from langchain_core.language_models.base import LanguageModelInput
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
)
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

REHEARSAL_PROVIDER: Final = "rehearsal"
REHEARSAL_VERSION: Final = "1"
REHEARSAL_MODEL: Final = f"{REHEARSAL_PROVIDER}:{REHEARSAL_VERSION}"


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool that a policy wants called, with JSON-like arguments."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """What a policy says: words, tool calls, or both. No calls means the agent is done."""

    text: str = ""
    calls: tuple[ToolUse, ...] = ()


@dataclass(frozen=True, slots=True)
class Turn:
    """Everything the model was sent this time."""

    messages: tuple[BaseMessage, ...]
    tools: tuple[str, ...]
    """Names of the tools that were bound, the structured-output tool included."""

    @property
    def system(self) -> str:
        """The whole system prompt, with what middleware added to it."""
        return "\n".join(str(m.text) for m in self.messages if isinstance(m, SystemMessage))

    @property
    def request(self) -> str:
        """The newest human message; empty if there is none."""
        for message in reversed(self.messages):
            if isinstance(message, HumanMessage):
                return str(message.text)
        return ""

    @property
    def since_request(self) -> tuple[BaseMessage, ...]:
        """What came after the newest human message."""
        after = len(self.messages)
        while after and not isinstance(self.messages[after - 1], HumanMessage):
            after -= 1
        return self.messages[after:]

    @property
    def number(self) -> int:
        """How often the model has already replied to the newest human message."""
        return sum(isinstance(message, AIMessage) for message in self.since_request)

    @property
    def results(self) -> tuple[ToolMessage, ...]:
        """Tool results since the newest human message, in the order of their calls."""
        return tuple(m for m in self.since_request if isinstance(m, ToolMessage))

    def result_of(self, tool: str, **arguments: Any) -> ToolMessage | None:
        """The newest result, in the whole conversation, of a call with at least these arguments."""
        wanted = {
            call["id"]
            for message in self.messages
            if isinstance(message, AIMessage)
            for call in message.tool_calls
            if call["name"] == tool and arguments.items() <= call["args"].items()
        }
        results = (m for m in reversed(self.messages) if isinstance(m, ToolMessage))
        return next((m for m in results if m.tool_call_id in wanted), None)


Policy = Callable[[Turn], Reply]


def succeeded(result: ToolMessage) -> bool:
    """Whether a tool call worked: no error status and, for a command, exit code 0."""
    return result.status != "error" and exit_code(result) in {None, 0}


def exit_code(result: ToolMessage) -> int | None:
    """The exit code of an `execute` result, which deepagents keeps in the artifact."""
    artifact = result.artifact
    code = artifact.get("exit_code") if isinstance(artifact, dict) else None
    return code if isinstance(code, int) else None


def file_text(result: ToolMessage) -> str:
    """What a `read_file` result shows, without the line that tells which lines it shows."""
    return re.sub(r"\A@@ lines [^\n]*@@\n?", "", str(result.text))


def listed_paths(result: ToolMessage) -> tuple[str, ...]:
    """The paths in an `ls` or `glob` result; none if it is not a listing."""
    try:
        paths = ast.literal_eval(str(result.text))
    except (ValueError, SyntaxError):
        return ()
    return tuple(str(path) for path in paths) if isinstance(paths, list) else ()


class RehearsalModel(BaseChatModel):
    """Chat model whose replies come from a policy."""

    policy: Policy
    model_name: str = REHEARSAL_VERSION

    @property
    def _llm_type(self) -> str:
        return REHEARSAL_PROVIDER

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:  # noqa: ARG002
        return LangSmithParams(
            ls_provider=REHEARSAL_PROVIDER, ls_model_name=self.model_name, ls_model_type="chat"
        )

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        schemas = [
            tool if isinstance(tool, dict) else convert_to_openai_tool(tool) for tool in tools
        ]
        return self.bind(tools=schemas, tool_choice=tool_choice, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> ChatResult:
        tools = tuple(schema["function"]["name"] for schema in kwargs.get("tools") or ())
        reply = self.policy(Turn(messages=tuple(messages), tools=tools))
        message = _as_message(reply, turn=sum(isinstance(m, AIMessage) for m in messages))
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> ChatResult:
        # A policy computes and never waits: a thread hop would cost more than the reply.
        return self._generate(messages, stop, None, **kwargs)


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
