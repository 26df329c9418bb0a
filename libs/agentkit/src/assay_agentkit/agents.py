"""Building deep agents and running them within bounds."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Generic, Literal, TypedDict, TypeVar

from deepagents import (
    FilesystemMiddleware,
    FsToolName,
    GeneralPurposeSubagentProfile,
    HarnessProfile,
    SubAgent,
    create_deep_agent,
    register_harness_profile,
)
from deepagents.backends.protocol import BackendProtocol
from langchain.agents.structured_output import ToolStrategy
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.exceptions import ContextOverflowError
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable
from langgraph.errors import GraphRecursionError
from pydantic import BaseModel

from assay_agentkit.bounds import Bounds, Middleware, OutOfTokens, bounding
from assay_agentkit.failures import AgentFailed
from assay_agentkit.meter import ModelMeter
from assay_agentkit.model_errors import ModelErrors, model_failure
from assay_agentkit.models import retries_of
from assay_agentkit.task_clock import running_on

StoppedBy = Literal["steps", "time", "tokens"]
T = TypeVar("T", bound=BaseModel)

Agent = Runnable[Any, Any]
"""A graph that `build_agent` made; what goes in and out is `run_agent`'s business alone."""

_NODES_PER_MODEL_CALL: Final = 8
"""Graph steps that one model call with its tools and middleware can take, generously counted."""


class _Values(TypedDict, total=False):
    """What is read of an agent's state."""

    messages: list[BaseMessage]
    structured_response: object


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
    middleware: Sequence[Middleware] = (),
    tool_descriptions: Mapping[str, str] | None = None,
    sub_agents: Sequence[SubAgent] = (),
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
        tool_descriptions: What the model is told of file tools instead of deepagents' own words.
        sub_agents: What it can ask others; each is made by `sub_agent`.
    """
    _no_general_purpose_subagent(model)
    return create_deep_agent(
        model,
        name=name,
        system_prompt=system_prompt,
        backend=backend,
        skills=list(skills) or None,
        response_format=ToolStrategy(answers_with) if answers_with else None,
        middleware=[
            ModelErrors(retries=retries_of(model)),
            *middleware,
            *bounding(bounds, meter),
            *_file_tools(backend, file_tools, tool_descriptions),
        ],
        subagents=list(sub_agents) or None,
    )


def sub_agent(
    model: BaseChatModel,
    *,
    name: str,
    description: str,
    system_prompt: str,
    bounds: Bounds,
    backend: BackendProtocol,
    file_tools: Sequence[FsToolName],
    answers_with: type[BaseModel],
    middleware: Sequence[Middleware] = (),
    tool_descriptions: Mapping[str, str] | None = None,
) -> SubAgent:
    """A sub-agent for `build_agent`, whose arguments these are; each has its own model calls.

    `description` is what the agent that asks it is told of it.
    """
    _no_general_purpose_subagent(model)
    return SubAgent(
        name=name,
        description=description,
        system_prompt=system_prompt,
        model=model,
        tools=[],
        middleware=[
            ModelErrors(retries=retries_of(model)),
            *middleware,
            *bounding(bounds, None),
            *_file_tools(backend, file_tools, tool_descriptions),
        ],
        response_format=ToolStrategy(answers_with),
    )


def _no_general_purpose_subagent(model: BaseChatModel) -> None:
    provider = model._get_ls_params().get("ls_provider")  # noqa: SLF001  # the only way to its profile key
    if provider:
        _without_general_purpose_subagent(provider)


def _file_tools(
    backend: BackendProtocol | None,
    offered: Sequence[FsToolName] | None,
    descriptions: Mapping[str, str] | None,
) -> list[Middleware]:
    if offered is None and not descriptions:
        return []
    return [
        FilesystemMiddleware(
            backend=backend,
            tools=None if offered is None else list(offered),
            custom_tool_descriptions=descriptions,
        )
    ]


async def run_agent(
    agent: Agent,
    request: str | Sequence[BaseMessage],
    *,
    bounds: Bounds,
    answers_with: type[T] | None = None,
    callbacks: Sequence[BaseCallbackHandler] = (),
) -> AgentRun[T]:
    """Run the agent until it is done or a bound bites; either way, return how far it came.

    Raises:
        AgentFailed: the model failed. What tools and backends raise passes through unchanged.
    """
    messages: list[BaseMessage] = (
        [HumanMessage(request)] if isinstance(request, str) else list(request)
    )
    last: _Values = {"messages": messages}
    stopped_by: StoppedBy | None = None
    try:
        async with asyncio.timeout(bounds.seconds) as clock, AsyncExitStack() as stack:
            stack.enter_context(running_on(clock))
            async for values in agent.astream(
                {"messages": messages},
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
        raise model_failure(error) from error
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


def failed_by(stopped_by: StoppedBy, bounds: Bounds) -> AgentFailed:
    """Why a run that a bound stopped has no answer."""
    match stopped_by:
        case "time":
            return AgentFailed("timeout", f"The agent was not done after {bounds.seconds:g} s.")
        case "steps":
            return AgentFailed(
                "model", f"The agent was not done after {bounds.model_calls} model calls."
            )
        case "tokens":
            return AgentFailed(
                "budget",
                f"The {bounds.tokens} tokens set aside for this are used up. Raise "
                "ASSAY_VALIDATION_TOKENS, or name a model that needs fewer.",
            )
