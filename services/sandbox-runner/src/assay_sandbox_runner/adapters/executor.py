"""The executing deep agent: one for each task, in the sandbox, within bounds."""

import json
import re
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any, Final, cast

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import AgentState, ToolCallRequest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.runtime import Runtime
from langgraph.types import Command
from pydantic import BaseModel

from assay_agentkit.agents import AgentRun, build_agent, run_agent
from assay_agentkit.bounds import Bounds
from assay_agentkit.meter import ModelMeter
from assay_contracts.runs import Bound, ModelUse, TraceStep
from assay_contracts.tasks import Task
from assay_sandbox_runner.adapters.deepagents_backend import SHOWN_CHARS, SandboxBackend
from assay_sandbox_runner.domain.attempt import Attempt
from assay_sandbox_runner.domain.text import clip
from assay_sandbox_runner.domain.timing import Stopwatch
from assay_sandbox_runner.installing import Installations
from assay_sandbox_runner.ports import SKILLS, Sandbox

PROMPT_VERSION: Final = "executor-2"
"""Changes with every change of `prompts/executor.md`."""

_PROMPT: Final = (files("assay_sandbox_runner") / "prompts" / "executor.md").read_text("utf-8")
_ARGUMENT_CHARS: Final = 8000
_STATUS_LINE: Final = re.compile(
    r"\n\[Command (?:succeeded|failed) with exit code -?\d+\]"
    r"(?:\n\[Output was truncated due to size limits\])?\Z"
)
"""What deepagents adds to a command's output; the trace keeps these facts apart from the output."""


class SkillNotDisclosed(RuntimeError):
    """A mounted skill was missing from what the agent was told: a zero would be our doing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeepAgentExecutors:
    """Makes the executing agents of a run."""

    model: BaseChatModel
    label: str
    """How reports name the model."""
    model_calls: int
    """Most that one task may take."""

    def __call__(self, stopwatch: Stopwatch) -> "DeepAgentCrew":
        return DeepAgentCrew(executors=self, stopwatch=stopwatch)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeepAgentCrew:
    """Carries a run's tasks out with the skills that are mounted in its sandbox."""

    executors: DeepAgentExecutors
    stopwatch: Stopwatch
    meter: ModelMeter = field(default_factory=ModelMeter)
    installations: Installations = field(default_factory=Installations)

    async def __call__(
        self,
        task: Task,
        *,
        sandbox: Sandbox,
        folder: str,
        skills: Collection[str],
        seconds: float,
        tokens: int | None,
    ) -> Attempt:
        """Let an agent work on the task in its folder within these bounds.

        Raises:
            AgentFailed: the model failed.
            SandboxUnavailable: the sandbox was lost.
            SkillNotDisclosed: the agent was not told of every one of `skills`.
        """
        backend = SandboxBackend(
            sandbox, folder=folder, stopwatch=self.stopwatch, installations=self.installations
        )
        bounds = Bounds(model_calls=self.executors.model_calls, seconds=seconds, tokens=tokens)
        recorder, own_meter = StepRecorder(skills), ModelMeter()
        agent = build_agent(
            self.executors.model,
            name="executor",
            system_prompt=_system_prompt(task, folder),
            bounds=bounds,
            backend=backend,
            skills=[SKILLS],
            meter=own_meter,
            middleware=[recorder],
        )
        run: AgentRun[BaseModel] = await run_agent(
            agent, task.prompt, bounds=bounds, callbacks=[self.meter, own_meter]
        )
        if backend.lost:
            raise backend.lost
        return Attempt(
            steps=recorder.steps,
            answer=run.answer,
            bounds_hit=_bounds_hit(run.stopped_by, recorder.steps),
        )

    def use(self) -> ModelUse:
        return self.meter.use(
            role="executor", model=self.executors.label, prompt_version=PROMPT_VERSION
        )

    def was_installing(self) -> bool:
        return self.installations.interrupted


def _system_prompt(task: Task, folder: str) -> str:
    given = "\n".join(f"- `{file.path}`" for file in task.files) or "- none"
    return _PROMPT.replace("{folder}", folder).replace("{files}", given)


def _bounds_hit(stopped_by: Bound | None, steps: Collection[TraceStep]) -> tuple[Bound, ...]:
    hit: list[Bound] = [stopped_by] if stopped_by else []
    if any(step.truncated and step.tool == "execute" for step in steps):
        hit.append("output")
    return tuple(hit)


Place = tuple[int, int, int]
"""Turn of the model, place in that turn, and which came first where those say nothing."""


class StepRecorder(AgentMiddleware[AgentState[Any], Any, Any]):
    """Writes down every tool call as it happens, those that never end included."""

    def __init__(self, skills: Collection[str]) -> None:
        super().__init__()
        self._expected = frozenset(skills)
        self._steps: dict[Place, TraceStep] = {}

    @property
    def steps(self) -> tuple[TraceStep, ...]:
        """In the order in which the model asked for them: which of two at once began is chance."""
        return tuple(step for _, step in sorted(self._steps.items()))

    async def abefore_model(
        self,
        state: AgentState[Any],
        runtime: Runtime[Any],  # noqa: ARG002
    ) -> None:
        loaded: Sequence[Mapping[str, str]] = cast("Any", state).get("skills_metadata") or ()
        disclosed = {skill["path"].split("/")[-2] for skill in loaded}
        if missing := self._expected - disclosed:
            raise SkillNotDisclosed(
                f"The agent was not told of {', '.join(sorted(missing))}: its SKILL.md "
                "could not be loaded, or another skill has the same name."
            )

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        at = datetime.now(UTC)
        began = time.perf_counter()
        place = (*_asked_at(request), len(self._steps))
        unended = TraceStep(
            tool=request.tool_call["name"],
            arguments=_as_json(request.tool_call["args"]),
            output="did not end before the task's bound",
            failed=True,
            at=at,
            seconds=0,
        )
        self._steps[place] = unended
        result: ToolMessage | Command[Any] | None = None
        try:
            result = await handler(request)
        finally:
            self._steps[place] = unended.model_copy(
                update={"seconds": time.perf_counter() - began, **_what_came_of(result)}
            )
        return result


def _asked_at(request: ToolCallRequest) -> tuple[int, int]:
    messages = request.state["messages"]
    asked = next((m for m in reversed(messages) if isinstance(m, AIMessage)), None)
    ids = [call["id"] for call in asked.tool_calls] if asked else []
    call_id = request.tool_call["id"]
    return len(messages), ids.index(call_id) if call_id in ids else len(ids)


def _as_json(arguments: Mapping[str, Any]) -> str:
    kept = {
        name: clip(value, _ARGUMENT_CHARS).text if isinstance(value, str) else value
        for name, value in arguments.items()
    }
    return json.dumps(kept, ensure_ascii=False, default=str)


def _what_came_of(result: ToolMessage | Command[Any] | None) -> dict[str, object]:
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


def _message_in(result: ToolMessage | Command[Any] | None) -> ToolMessage | None:
    if isinstance(result, Command):
        update = result.update if isinstance(result.update, dict) else {}
        return next((m for m in update.get("messages", ()) if isinstance(m, ToolMessage)), None)
    return result
