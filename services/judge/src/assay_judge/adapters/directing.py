"""Middleware of the judge's graph: who is asked what, in what order, and whether it will do."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, cast

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import (
    AgentState,
    ModelRequest,
    ModelResponse,
    ToolCallRequest,
    hook_config,
)
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolCall, ToolMessage
from langgraph.runtime import Runtime
from langgraph.types import Command
from pydantic import BaseModel
from typing_extensions import override

from assay_agentkit.bounds import OutOfTokens
from assay_agentkit.failures import AgentFailed
from assay_contracts.runs import TraceStep
from assay_judge.adapters.assignments import (
    CURRENT_ASSIGNMENT,
    CURRENT_JOB,
    TRIES,
    Assignment,
    current_assignment,
)

ToolResult = ToolMessage | Command[Any]  # LangGraph's own signature: where a command may go
ToolHandler = Callable[[ToolCallRequest], Awaitable[ToolResult]]
ModelHandler = Callable[[ModelRequest[None]], Awaitable[ModelResponse[object]]]

_DELEGATE: Final = "task"
"""deepagents' tool that asks a sub-agent."""
_KEPT_CHARS: Final = 4_000
"""Of an argument or an output, in the trace."""


class Directing(AgentMiddleware[AgentState[object], None, object]):
    """Of the main agent: hands out the assignments that there are, each to its sub-agent.

    The model is asked only for what is a matter of judgement. Which task goes to which sub-agent
    is not: that call is made by code, through deepagents' own tool, and costs no call to a model.
    """

    @override
    async def awrap_model_call(
        self, request: ModelRequest[None], handler: ModelHandler
    ) -> ModelResponse[object]:
        job = CURRENT_JOB.get()
        if job.own is not None and job.own.accepted is None:
            own = [tool for tool in request.tools if _name_of(tool) != _DELEGATE]
            return await handler(request.override(tools=own))
        if job.handed_out:
            return ModelResponse(result=[AIMessage("All of it is done.")])
        job.handed_out = True
        calls = [
            ToolCall(
                name=_DELEGATE,
                args={"description": each.about, "subagent_type": each.agent},
                id=f"assignment_{place}",
                type="tool_call",
            )
            for place, each in enumerate(job.assignments)
        ]
        return ModelResponse(result=[AIMessage("", tool_calls=calls)])

    @override
    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolResult:
        if request.tool_call["name"] != _DELEGATE:
            return await handler(request)
        job = CURRENT_JOB.get()
        place = int(str(request.tool_call["id"]).removeprefix("assignment_"))
        token = CURRENT_ASSIGNMENT.set(job.assignments[place])
        try:
            async with asyncio.timeout(job.seconds) as clock:
                return await handler(request)
        except TimeoutError:
            if not clock.expired():
                raise
            raise AgentFailed(
                "timeout", f"The agent was not done after {job.seconds:g} s."
            ) from None
        finally:
            CURRENT_ASSIGNMENT.reset(token)


class Briefed(AgentMiddleware[AgentState[object], None, object]):
    """Of a sub-agent: begins its conversation with the whole request, pictures included."""

    @override
    async def abefore_agent(
        self, state: AgentState[object], runtime: Runtime[None]
    ) -> dict[str, object]:
        request = current_assignment().request
        return {"messages": [HumanMessage(request, id=state["messages"][0].id)]}


class Verified(AgentMiddleware[AgentState[object], None, object]):
    """Gives a draft back, with what is wrong with it, until it will do or the tries are used up."""

    def __init__(self, answers_with: str) -> None:
        super().__init__()
        self._answers_with = answers_with

    @hook_config(can_jump_to=["model"])
    @override
    async def aafter_model(
        self, state: AgentState[object], runtime: Runtime[None]
    ) -> dict[str, object] | None:
        assignment = CURRENT_ASSIGNMENT.get()
        if assignment is None or assignment.accepted is not None:
            return None
        draft = cast("BaseModel | None", state.get("structured_response"))
        said, answered = _last_turn(state["messages"])
        if draft is None:
            if said is None or said.tool_calls:
                return None
            problems: Sequence[str] = (
                f"The model answered in prose instead of a {self._answers_with}.",
            )
        else:
            problems = await assignment.problems_of(draft)
        if draft is not None and not problems:
            assignment.accepted = draft
            return self._go_on(draft)
        assignment.refused.append(" ".join(problems))
        if len(assignment.refused) >= TRIES:
            raise AgentFailed(
                "model",
                f"The model's answer was refused {TRIES} times, last for: {' '.join(problems)}",
            )
        pending = [call for call in (said.tool_calls if said else ()) if call["id"] not in answered]
        return {
            "messages": [
                *(ToolMessage("Not carried out.", tool_call_id=call["id"]) for call in pending),
                HumanMessage(_asked_again(problems)),
            ],
            "structured_response": None,
            "jump_to": "model",
        }

    @staticmethod
    def _go_on(draft: BaseModel) -> dict[str, object] | None:
        """The main agent's answer says what its sub-agents are to be asked."""
        job = CURRENT_JOB.get()
        if current_assignment() is not job.own or job.follow_up is None:
            return None
        job.assignments.extend(job.follow_up(draft))
        return {"structured_response": None, "jump_to": "model"}


class Recorded(AgentMiddleware[AgentState[object], None, object]):
    """Writes down every tool call, and carries out those of one turn in their order."""

    @override
    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolResult:
        if request.tool_call["name"] == _DELEGATE:
            return await handler(request)
        assignment = current_assignment()
        # The graph starts the calls in their order, and the lock lets them in as they came.
        async with assignment.turn:
            at, began = datetime.now(UTC), time.perf_counter()
            result = await handler(request)
            assignment.steps.append(_step(request, result, at, time.perf_counter() - began))
        return result


class Budgeted(AgentMiddleware[AgentState[object], None, object]):
    """Asks the model nothing more once the job's tokens are used up."""

    @override
    async def abefore_model(self, state: AgentState[object], runtime: Runtime[None]) -> None:
        job = CURRENT_JOB.get()
        if job.tokens is not None and job.meter.tokens >= job.tokens:
            raise OutOfTokens


def unfinished(assignment: Assignment, model_calls: int) -> AgentFailed:
    """Why an agent that ended has no draft that will do."""
    if assignment.refused:
        return AgentFailed("model", f"No answer would do, last for: {assignment.refused[-1]}")
    return AgentFailed("model", f"The agent was not done after {model_calls} model calls.")


def _last_turn(messages: Sequence[AnyMessage]) -> tuple[AIMessage | None, frozenset[str]]:
    """What the model said last, and the calls of it that were answered since."""
    place = max((at for at, m in enumerate(messages) if isinstance(m, AIMessage)), default=None)
    if place is None:
        return None, frozenset()
    said = messages[place]
    since = (message for message in messages[place:] if isinstance(message, ToolMessage))
    return said if isinstance(said, AIMessage) else None, frozenset(m.tool_call_id for m in since)


def _step(request: ToolCallRequest, result: ToolResult, at: datetime, seconds: float) -> TraceStep:
    message = result if isinstance(result, ToolMessage) else None
    artifact = message.artifact if message and isinstance(message.artifact, dict) else {}
    output = str(message.text) if message else ""
    arguments = {
        name: value[:_KEPT_CHARS] if isinstance(value, str) else value
        for name, value in request.tool_call["args"].items()
    }
    return TraceStep(
        tool=request.tool_call["name"],
        arguments=json.dumps(arguments, ensure_ascii=False, default=str),
        output=output[:_KEPT_CHARS],
        truncated=len(output) > _KEPT_CHARS,
        failed=message is not None and message.status == "error",
        exit_code=artifact.get("exit_code"),
        at=at,
        seconds=seconds,
    )


def _asked_again(problems: Sequence[str]) -> str:
    listed = "\n".join(f"- {problem}" for problem in problems)
    return (
        f"That answer cannot be used. Give the whole answer again, with this put right:\n{listed}"
    )


def _name_of(tool: object) -> str:
    return str(tool.get("name", "")) if isinstance(tool, dict) else str(getattr(tool, "name", ""))
