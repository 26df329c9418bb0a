"""The steps of a trace, as an agent takes them."""

import json
import re
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from deepagents.middleware.skills import SkillsState
from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.runtime import Runtime
from langgraph.types import Command
from typing_extensions import override

from assay_contracts.obstacles import LimitKind
from assay_contracts.runs import TraceStep
from assay_sandbox_runner.adapters.deepagents_backend import SHOWN_CHARS
from assay_sandbox_runner.domain.text import clip

_ARGUMENT_CHARS: Final = 64_000
_STATUS_LINE: Final = re.compile(
    r"\n\[Command (?:succeeded|failed) with exit code -?\d+\]"
    r"(?:\n\[Output was truncated due to size limits\])?\Z"
)
"""What deepagents adds to a command's output; the trace keeps these facts apart from the output."""

ToolResult = ToolMessage | Command[Any]  # LangGraph's own signature: where a command may go
StepOrder = tuple[int, int, int]
"""Turn of the model, place in that turn, and which came first where those say nothing."""


class SkillNotDisclosed(RuntimeError):
    """A mounted skill was missing from what the agent was told: a zero would be our doing."""


class StepRecorder(AgentMiddleware[SkillsState, None, None]):
    """Writes down every tool call as it happens, those that never end included.

    Before each turn of the model it makes sure that the agent was told of every mounted skill.
    """

    def __init__(
        self, skills: Collection[str], limits_hit: Callable[[], tuple[LimitKind, ...]] = tuple
    ) -> None:
        """Record.

        Args:
            skills: Those that the agent must be told of.
            limits_hit: Tells which limits the last command ran into.
        """
        super().__init__()
        self._limits_hit = limits_hit
        self._expected = frozenset(skills)
        self._steps: dict[StepOrder, TraceStep] = {}

    @property
    def steps(self) -> tuple[TraceStep, ...]:
        """In the order in which the model asked for them: which of two at once began is chance."""
        return tuple(step for _, step in sorted(self._steps.items()))

    @override
    async def abefore_model(self, state: SkillsState, runtime: Runtime[None]) -> None:
        disclosed = {skill["path"].split("/")[-2] for skill in state.get("skills_metadata") or ()}
        if missing := self._expected - disclosed:
            raise SkillNotDisclosed(
                f"The agent was not told of {', '.join(sorted(missing))}: its SKILL.md "
                "could not be loaded, or another skill has the same name."
            )

    @override
    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolResult]],
    ) -> ToolResult:
        at = datetime.now(UTC)
        began = time.perf_counter()
        order = (*_asked_at(request), len(self._steps))
        unended = TraceStep(
            tool=request.tool_call["name"],
            arguments=_as_json(request.tool_call["args"]),
            output="did not end before the task's bound",
            failed=True,
            at=at,
            seconds=0,
        )
        self._steps[order] = unended
        limits: tuple[LimitKind, ...] = ()
        result: ToolResult | None = None
        try:
            result = await handler(request)
            if unended.tool == "execute":
                limits = self._limits_hit()
        finally:
            seconds = time.perf_counter() - began
            self._steps[order] = unended.model_copy(
                update={"seconds": seconds, "limits_hit": limits, **_what_came_of(result)}
            )
        return result


def _asked_at(request: ToolCallRequest) -> tuple[int, int]:
    messages = request.state["messages"]
    asked = next((m for m in reversed(messages) if isinstance(m, AIMessage)), None)
    ids = [call["id"] for call in asked.tool_calls] if asked else []
    call_id = request.tool_call["id"]
    return len(messages), ids.index(call_id) if call_id in ids else len(ids)


def _as_json(arguments: Mapping[str, object]) -> str:
    kept = {
        name: clip(value, _ARGUMENT_CHARS).text if isinstance(value, str) else value
        for name, value in arguments.items()
    }
    return json.dumps(kept, ensure_ascii=False, default=str)


def _what_came_of(result: ToolResult | None) -> dict[str, object]:
    message = _message_in(result)
    if message is None:
        return {} if result is None else {"output": "", "failed": False}
    artifact = message.artifact if isinstance(message.artifact, dict) else {}
    shown = clip(_STATUS_LINE.sub("", str(message.text)), SHOWN_CHARS)
    return {
        "output": shown.text,
        "truncated": shown.truncated or bool(artifact.get("truncated")),
        "failed": message.status == "error",
        "exit_code": artifact.get("exit_code"),
    }


def _message_in(result: ToolResult | None) -> ToolMessage | None:
    if isinstance(result, Command):
        update = result.update if isinstance(result.update, dict) else {}
        return next((m for m in update.get("messages", ()) if isinstance(m, ToolMessage)), None)
    return result
