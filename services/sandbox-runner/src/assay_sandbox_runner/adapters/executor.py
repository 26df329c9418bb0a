"""The executing deep agents: one for each task, in the sandbox, within bounds."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Final

from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel

from assay_agentkit.agents import AgentRun, build_agent, run_agent
from assay_agentkit.bounds import Bounds
from assay_agentkit.meter import ModelMeter
from assay_contracts.base import ModelUse
from assay_contracts.runs import Bound, TraceStep
from assay_contracts.tasks import Task, TaskFile
from assay_sandbox_runner.adapters.choice import StopAtChoice
from assay_sandbox_runner.adapters.deepagents_backend import SandboxBackend
from assay_sandbox_runner.adapters.shared_installations import SharedInstallations
from assay_sandbox_runner.adapters.step_recorder import StepRecorder
from assay_sandbox_runner.adapters.tool_answers import (
    READ_FILE_DESCRIPTION,
    OneAfterAnother,
    PlainAnswers,
)
from assay_sandbox_runner.domain.timing import Stopwatch
from assay_sandbox_runner.domain.work_done import WorkDone
from assay_sandboxes.port import SKILLS, Sandbox

PROMPT_VERSION: Final = "executor-3"
"""Changes with every change of `prompts/executor.md`."""

CHOICE_MODEL_CALLS: Final = 3
"""Most that the choice of a skill may take."""

_PROMPT: Final = (files("assay_sandbox_runner") / "prompts" / "executor.md").read_text("utf-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeepAgentsForRun:
    """Makes the executing agents of a run."""

    model: BaseChatModel
    label: str
    """How reports name the model."""
    model_calls: int
    """Most that one task may take."""

    def __call__(self, stopwatch: Stopwatch) -> "ExecutingDeepAgents":
        return ExecutingDeepAgents(
            model=self.model, label=self.label, model_calls=self.model_calls, stopwatch=stopwatch
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutingDeepAgents:
    """Carries a run's tasks out with the skills that are mounted in its sandbox."""

    model: BaseChatModel
    label: str
    model_calls: int
    stopwatch: Stopwatch
    meter: ModelMeter = field(default_factory=ModelMeter)
    near_miss_meter: ModelMeter = field(default_factory=ModelMeter)
    installations: SharedInstallations = field(default_factory=SharedInstallations)

    async def work_on(
        self,
        task: Task,
        *,
        sandbox: Sandbox,
        folder: str,
        skills: Collection[str],
        seconds: float,
        tokens: int | None,
    ) -> WorkDone:
        """Let an agent work on the task in its folder within these bounds.

        Raises:
            AgentFailed: the model failed.
            SandboxUnavailable: the sandbox was lost.
            SkillNotDisclosed: the agent was not told of every one of `skills`.
        """
        backend = SandboxBackend(
            sandbox, folder=folder, stopwatch=self.stopwatch, installations=self.installations
        )
        bounds = Bounds(model_calls=self.model_calls, seconds=seconds, tokens=tokens)
        recorder = StepRecorder(skills, limits_hit=lambda: backend.limits_hit)
        own_meter = ModelMeter()
        agent = build_agent(
            self.model,
            name="executor",
            system_prompt=_system_prompt(task.files, folder),
            bounds=bounds,
            backend=backend,
            skills=[SKILLS],
            meter=own_meter,
            middleware=[OneAfterAnother(), recorder, PlainAnswers(backend)],
            tool_descriptions={"read_file": READ_FILE_DESCRIPTION},
        )
        run: AgentRun[BaseModel] = await run_agent(
            agent, task.prompt, bounds=bounds, callbacks=[self.meter, own_meter]
        )
        if backend.lost:
            raise backend.lost
        return WorkDone(
            steps=recorder.steps,
            answer=run.answer,
            bounds_hit=_bounds_hit(run.stopped_by, recorder.steps),
        )

    async def choose_for(
        self,
        prompt: str,
        *,
        sandbox: Sandbox,
        folder: str,
        skills: Collection[str],
        seconds: float,
        tokens: int | None,
    ) -> tuple[TraceStep, ...]:
        """What an agent does about the prompt until it has chosen a skill, or none.

        Raises:
            AgentFailed: the model failed.
            SandboxUnavailable: the sandbox was lost.
            SkillNotDisclosed: the agent was not told of every one of `skills`.
        """
        backend = SandboxBackend(
            sandbox, folder=folder, stopwatch=self.stopwatch, installations=self.installations
        )
        bounds = Bounds(model_calls=CHOICE_MODEL_CALLS, seconds=seconds, tokens=tokens)
        recorder, own_meter = StepRecorder(skills), ModelMeter()
        agent = build_agent(
            self.model,
            name="executor",
            system_prompt=_system_prompt((), folder),
            bounds=bounds,
            backend=backend,
            skills=[SKILLS],
            meter=own_meter,
            middleware=[recorder, StopAtChoice()],
        )
        await run_agent(agent, prompt, bounds=bounds, callbacks=[self.near_miss_meter, own_meter])
        if backend.lost:
            raise backend.lost
        return recorder.steps

    def model_use(self) -> ModelUse:
        return self.meter.use(role="executor", model=self.label, prompt_version=PROMPT_VERSION)

    def near_miss_use(self) -> ModelUse:
        return self.near_miss_meter.use(
            role="executor", model=self.label, prompt_version=PROMPT_VERSION
        )

    def was_installing(self) -> bool:
        return self.installations.interrupted


def _system_prompt(given_files: Sequence[TaskFile], folder: str) -> str:
    given = "\n".join(f"- `{file.path}`" for file in given_files) or "- none"
    return _PROMPT.replace("{folder}", folder).replace("{files}", given)


def _bounds_hit(stopped_by: Bound | None, steps: Collection[TraceStep]) -> tuple[Bound, ...]:
    hit: list[Bound] = [stopped_by] if stopped_by else []
    if any(step.truncated and step.tool == "execute" for step in steps):
        hit.append("output")
    return tuple(hit)
