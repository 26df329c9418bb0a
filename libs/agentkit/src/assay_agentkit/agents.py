"""Building and running deep agents within bounds, with every failure of a model made explicit."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, Literal, TypeVar

from deepagents import (
    FilesystemMiddleware,
    FsToolName,
    GeneralPurposeSubagentProfile,
    HarnessProfile,
    create_deep_agent,
    register_harness_profile,
)
from deepagents.backends.protocol import BackendProtocol
from langchain.agents.middleware import AgentMiddleware, ModelCallLimitMiddleware
from langchain.agents.middleware.types import AgentState, ModelRequest, ModelResponse
from langchain.agents.structured_output import ToolStrategy
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.exceptions import ContextOverflowError, ModelTimeoutError
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable
from langgraph.errors import GraphRecursionError
from langgraph.runtime import Runtime
from pydantic import BaseModel

from assay_agentkit.failures import AgentFailed
from assay_agentkit.meter import ModelMeter

StoppedBy = Literal["steps", "time", "tokens"]
T = TypeVar("T", bound=BaseModel)

Agent = Runnable[Any, Any]

_KEY = re.compile(r"\b(?:sk|pk|key|AIza)[-_]?[\w*-]{8,}|(?<=Bearer )\S+")
"""What looks like a key; providers quote them when they refuse one."""
_MALFORMED_TRIES = 3
_NODES_PER_MODEL_CALL = 8
"""Graph steps that one model call with its tools and middleware can take, generously counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What one agent run may use up."""

    model_calls: int
    seconds: float
    tokens: int | None = None
    """Of its meter, which several runs may share; looked at before each model call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRun(Generic[T]):
    """Where a run ended, whether it finished or hit a bound."""

    messages: tuple[BaseMessage, ...]
    structured: T | None
    stopped_by: StoppedBy | None

    @property
    def answer(self) -> str:
        """The agent's last words; empty if it had none of its own."""
        if self.stopped_by in {"steps", "tokens"}:
            return ""
        last = self.messages[-1] if self.messages else None
        return str(last.text) if isinstance(last, AIMessage) else ""


class ModelErrors(AgentMiddleware[Any, Any, Any]):
    """Turns whatever a provider raises, and what no agent can go on from, into `AgentFailed`.

    A tool's error looks different. A call that is no JSON is asked for again a few times.
    """

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        for _ in range(_MALFORMED_TRIES):
            try:
                response = await handler(request)
            except ContextOverflowError:
                raise  # deepagents answers this one by shortening the conversation
            except Exception as error:  # every provider has its own exception types
                raise _model_failure(error) from error
            said = [message for message in response.result if isinstance(message, AIMessage)]
            if refusal := next(filter(None, map(_refusal, said)), None):
                raise AgentFailed("model", f"The model refused: {refusal[:300]}")
            if not any(message.invalid_tool_calls for message in said):
                return response
        raise AgentFailed(
            "model", f"The model's tool calls were no JSON, {_MALFORMED_TRIES} times in a row."
        )


def _refusal(message: AIMessage) -> str | None:
    """How a provider says that its model will not; words of the model's own are an answer."""
    refusal = message.additional_kwargs.get("refusal")
    if refusal:
        return str(refusal)
    filtered = message.response_metadata.get("finish_reason") == "content_filter"
    return "its provider's content filter stopped it" if filtered else None


class OutOfTokens(Exception):
    """The tokens that a run may use are used up."""


class TokenLimit(AgentMiddleware[Any, Any, Any]):
    """Asks the model nothing more once its meter has counted so many tokens."""

    def __init__(self, meter: ModelMeter, tokens: int) -> None:
        super().__init__()
        self._meter = meter
        self._tokens = tokens

    async def abefore_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:  # noqa: ARG002
        if self._meter.tokens >= self._tokens:
            raise OutOfTokens


def _model_failure(error: Exception) -> AgentFailed:
    if isinstance(error, AgentFailed):
        return error
    detail = _KEY.sub("[key]", f"{type(error).__name__}: {error}")[:600]
    if isinstance(error, ModelTimeoutError | TimeoutError):
        return AgentFailed("timeout", f"The model did not answer in time ({detail}).")
    return AgentFailed(
        "model",
        f"The model call failed ({detail}). Check the model setting, its key and its quota.",
    )


@cache
def _without_general_purpose_subagent(provider: str) -> None:
    # Its steps would be hidden from the parent's trace, and nobody here asks for it.
    register_harness_profile(
        provider,
        HarnessProfile(
            general_purpose_subagent=GeneralPurposeSubagentProfile(enabled=False),
        ),
    )


def build_agent(
    model: BaseChatModel,
    *,
    name: str,
    system_prompt: str,
    bounds: Bounds,
    backend: BackendProtocol | None = None,
    file_tools: Sequence[FsToolName] | None = None,
    skills: Sequence[str] = (),
    answers_with: type[BaseModel] | None = None,
    meter: ModelMeter | None = None,
    middleware: Sequence[AgentMiddleware[Any, Any, Any]] = (),
) -> Agent:
    """A deep agent with a bound on model calls and no general-purpose sub-agent.

    Args:
        model: Drives the agent.
        name: Shown in traces.
        system_prompt: Comes first in the system message.
        bounds: `model_calls` and `tokens` are enforced by the graph, `seconds` by `run_agent`.
        backend: Where file tools and `execute` work; none means a throw-away in memory.
        file_tools: The only file tools offered; None offers all that the backend can do.
        skills: Folders below which deepagents looks for skills to disclose.
        answers_with: Schema of the final answer, asked for by a tool call of that name.
        meter: Counts the tokens that are bounded; a bound on them without it is an error.
        middleware: Added to deepagents' own.
    """
    provider = model._get_ls_params().get("ls_provider")  # noqa: SLF001  # the only way to its profile key
    if provider:
        _without_general_purpose_subagent(provider)
    extra: list[AgentMiddleware[Any, Any, Any]] = [
        ModelErrors(),
        ModelCallLimitMiddleware(run_limit=bounds.model_calls, exit_behavior="end"),
        *middleware,
    ]
    if bounds.tokens is not None:
        if meter is None:
            raise ValueError("a bound on tokens needs the meter that counts them")
        extra.append(TokenLimit(meter, bounds.tokens))
    if file_tools is not None:
        extra.append(FilesystemMiddleware(backend=backend, tools=list(file_tools)))
    return create_deep_agent(
        model,
        name=name,
        system_prompt=system_prompt,
        backend=backend,
        skills=list(skills) or None,
        response_format=ToolStrategy(answers_with) if answers_with else None,
        middleware=extra,
    )


async def run_agent(
    agent: Agent,
    request: str | Sequence[BaseMessage],
    *,
    bounds: Bounds,
    answers_with: type[T] | None = None,
    callbacks: Sequence[BaseCallbackHandler] = (),
    state: Mapping[str, Any] | None = None,
) -> AgentRun[T]:
    """Run the agent until it is done or a bound bites; either way, return how far it came.

    Raises:
        AgentFailed: the model failed. What tools and backends raise passes through unchanged.
    """
    messages = [HumanMessage(request)] if isinstance(request, str) else list(request)
    last: dict[str, Any] = {"messages": messages}
    stopped_by: StoppedBy | None = None
    try:
        async with asyncio.timeout(bounds.seconds) as clock:
            async for values in agent.astream(
                {**(state or {}), "messages": messages},
                {
                    "callbacks": list(callbacks),
                    "recursion_limit": _NODES_PER_MODEL_CALL * (bounds.model_calls + 2),
                },
                stream_mode="values",
            ):
                last = values
    except TimeoutError:
        if not clock.expired():
            raise
        stopped_by = "time"
    except GraphRecursionError:
        stopped_by = "steps"
    except OutOfTokens:
        stopped_by = "tokens"
    except ContextOverflowError as error:
        raise _model_failure(error) from error
    ended: list[BaseMessage] = list(last["messages"])
    if _was_cut_short(ended):
        stopped_by = "steps"
    structured = last.get("structured_response")
    return AgentRun(
        messages=tuple(ended),
        structured=(structured if answers_with and isinstance(structured, answers_with) else None),
        stopped_by=stopped_by,
    )


def _was_cut_short(messages: Sequence[BaseMessage]) -> bool:
    # ModelCallLimitMiddleware leaves no other mark in the state that callers can see.
    last = messages[-1] if messages else None
    return isinstance(last, AIMessage) and str(last.text).startswith("Model call limits exceeded:")


async def ask_agent(
    agent: Agent,
    request: str | Sequence[BaseMessage],
    *,
    bounds: Bounds,
    answers_with: type[T],
    callbacks: Sequence[BaseCallbackHandler] = (),
    state: Mapping[str, Any] | None = None,
) -> tuple[T, tuple[BaseMessage, ...]]:
    """Run the agent for its structured answer; also return the conversation, to ask on from it.

    Raises:
        AgentFailed: the model failed, a bound bit, or the answer never came in its schema.
    """
    run = await run_agent(
        agent,
        request,
        bounds=bounds,
        answers_with=answers_with,
        callbacks=callbacks,
        state=state,
    )
    if run.stopped_by == "time":
        raise AgentFailed("timeout", f"The agent was not done after {bounds.seconds:g} s.")
    if run.stopped_by == "steps":
        raise AgentFailed(
            "model", f"The agent was not done after {bounds.model_calls} model calls."
        )
    if run.stopped_by == "tokens":
        raise AgentFailed(
            "budget",
            f"The {bounds.tokens} tokens set aside for this are used up. Raise "
            "ASSAY_VALIDATION_TOKENS, or name a model that needs fewer.",
        )
    if run.structured is None:
        raise AgentFailed(
            "model", f"The model answered in prose instead of a {answers_with.__name__}."
        )
    return run.structured, run.messages
