import posixpath
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from assay_agentkit.concurrency import run_both
from assay_agentkit.failures import AgentFailed
from assay_contracts.attribution import Attribution
from assay_contracts.coverage import TaskShows
from assay_contracts.runs import (
    ProducedFile,
    RunRequested,
    SkillUse,
    TaskOutcome,
    Trace,
    TraceStep,
)
from assay_contracts.tasks import CheckResult, Task
from assay_sandbox_runner.domain.attribution import RanProgram, attribute_task
from assay_sandbox_runner.domain.check_results import as_trials, prove_nothing, with_trials
from assay_sandbox_runner.domain.network_calls import TaskWindow
from assay_sandbox_runner.domain.outcome import files_made, outcome_of
from assay_sandbox_runner.domain.produced_files import asked_for, checked_paths
from assay_sandbox_runner.domain.program_runs import missing_files_read, programs_ran
from assay_sandbox_runner.domain.result_files import ResultFiles
from assay_sandbox_runner.domain.result_origin import Results, set_aside
from assay_sandbox_runner.domain.skill_needs import NOTHING_NEEDED, SkillNeeds
from assay_sandbox_runner.domain.skill_text import passages_of, skill_files_read
from assay_sandbox_runner.domain.timing import Stopwatch
from assay_sandbox_runner.domain.usage import skills_used
from assay_sandbox_runner.ports import Bundles, ExecutingAgents, MountedSkills
from assay_sandbox_runner.use_cases.check_task import CheckTask
from assay_sandbox_runner.use_cases.clean_sandbox import CleanSandbox
from assay_sandbox_runner.use_cases.find_obstacles import FindObstacles, FoundObstacles
from assay_sandbox_runner.use_cases.read_results import ReadResults
from assay_sandbox_runner.use_cases.task_folder import (
    ListedFile,
    copy_results,
    list_files,
    make_task_folder,
)
from assay_sandboxes.port import SKILLS, WORKSPACE, OpenedEnvironment, Sandbox

_LISTED_FILES: Final = 200
_SECONDS: Final = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRun:
    """A run whose sandbox is open: what all of its tasks share."""

    request: RunRequested
    sandbox: Sandbox
    environment: OpenedEnvironment
    """What the sandbox started from."""
    skills: MountedSkills
    manual: str
    """The SKILL.md of the skill that the tasks are about; empty where it is not shown to agents."""
    agents: ExecutingAgents
    stopwatch: Stopwatch
    """Runs while a command in the sandbox does."""
    clean: CleanSandbox
    """Where the tasks' checks run."""
    needs: SkillNeeds = NOTHING_NEEDED
    """What that skill names; nothing where it is not shown to agents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRecord:
    """What is known of a task that was worked on and checked."""

    trace: Trace
    outcome: TaskOutcome
    window: TaskWindow

    def showing(self, shows: TaskShows | None) -> "TaskRecord":
        """The same, with what it shows of what the skill documents."""
        if shows is None:
            return self
        return replace(
            self,
            trace=self.trace.model_copy(update={"shows": shows}),
            outcome=self.outcome.model_copy(update={"shows": shows}),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkOnTask:
    """Let an agent work on one task, check what it left behind, and write down the trace."""

    check: CheckTask
    read_results: ReadResults
    find_obstacles: FindObstacles
    bundles: Bundles

    async def __call__(
        self, task: Task, run: OpenRun, *, seconds: float, tokens: int | None
    ) -> TaskRecord:
        """Several may be at work in one run at once.

        Args:
            task: What to do.
            run: Where to do it.
            seconds: How long the agent may work.
            tokens: What its model may use; none means no bound.

        Raises:
            AgentFailed: the model failed, or the task's checks would show nothing.
            SandboxUnavailable: the sandbox was lost.
        """
        started, began = datetime.now(UTC), time.perf_counter()
        folder = posixpath.join(WORKSPACE, "tasks", task.task_id)
        await make_task_folder(run.sandbox, folder, task)
        given = await list_files(run.sandbox, folder, named := checked_paths(task.checks))
        work, checked_before = await run_both(
            run.agents.work_on(
                task,
                sandbox=run.sandbox,
                folder=folder,
                skills=run.skills.files.keys(),
                seconds=seconds,
                tokens=tokens,
            ),
            # Elsewhere, so that it need not keep the agent waiting.
            self._check_before_work(task, run),
        )
        left = await list_files(run.sandbox, folder, named)
        made = files_made(_stamps(given), _stamps(left))
        produced = await self.read_results(
            task, sandbox=run.sandbox, folder=folder, sizes=_sizes(left), made=made
        )
        checked = await self._check(task, run, left, output=work.output)
        used = skills_used(work.steps, run.skills.files, root=SKILLS, folder=folder)
        ran, results = _ran(run, work.steps, folder), _results(task, run, produced, made, left)
        found = await self._find_obstacles(work.steps, run, ran, folder)
        trace = Trace(
            task_id=task.task_id,
            prompt=task.prompt,
            steps=await self._with_skill_text(work.steps, run, folder),
            answer=work.answer,
            files_made=made[:_LISTED_FILES],
            produced=produced,
            skills_used=used,
            attribution=_attribution(run, ran, used, found, set_aside(work.steps, ran, results)),
            obstacles=found.every,
            checks=with_trials(checked, task.trials or as_trials(checked_before)),
            bounds_hit=work.bounds_hit,
        )
        key = f"{run.request.step_id}/{run.request.attempt}/{task.task_id}.json"
        took = time.perf_counter() - began
        return TaskRecord(
            trace=trace,
            outcome=outcome_of(trace, key=key, seconds=took, unovercome=found.unovercome),
            window=TaskWindow(task.task_id, folder, started, datetime.now(UTC)),
        )

    async def _find_obstacles(
        self, steps: Sequence[TraceStep], run: OpenRun, ran: Sequence[RanProgram], folder: str
    ) -> FoundObstacles:
        return await self.find_obstacles(
            steps,
            sandbox=run.sandbox,
            folder=folder,
            needs=run.needs,
            skills_steps=_skills_steps(run, steps, ran),
            hosts_matter=run.sandbox.proof().network == "open",
        )

    async def _with_skill_text(
        self, steps: Sequence[TraceStep], run: OpenRun, folder: str
    ) -> tuple[TraceStep, ...]:
        """The steps, each knowing where its output repeats a skill's file that it read."""
        marked = []
        for step in steps:
            files = skill_files_read(step, run.skills.files, root=SKILLS, folder=folder)
            texts = await self.bundles.file_texts(run.skills, files) if files else []
            passages = passages_of(step.output, texts) if texts else ()
            marked.append(step.model_copy(update={"skill_text": passages}) if passages else step)
        return tuple(marked)

    async def _check(
        self, task: Task, run: OpenRun, left: Mapping[str, ListedFile], *, output: str
    ) -> tuple[CheckResult, ...]:
        """What the checks say of the files that are left, a copy of which is all they see."""
        if not task.checks:
            return ()
        folder = posixpath.join(WORKSPACE, "tasks", task.task_id)
        files = await copy_results(run.sandbox, folder, left, checked_paths(task.checks))
        with run.stopwatch.running():
            return await self.check(task.checks, files, output=output, clean=run.clean)

    async def _check_before_work(self, task: Task, run: OpenRun) -> tuple[CheckResult, ...]:
        """What the checks say of the input files alone, where the plan does not tell."""
        if task.trials or not task.checks:
            return ()
        inputs = ResultFiles.of(task.files)
        results = await self.check(task.checks, inputs, output="", clean=run.clean)
        if prove_nothing(task, results):
            raise AgentFailed(
                "model",
                f"The plan cannot be used: every check of {task.task_id} passes before any work "
                "is done, so that passing them would show nothing.",
            )
        return results


def _ran(run: OpenRun, steps: Sequence[TraceStep], folder: str) -> tuple[RanProgram, ...]:
    """Runs of programs of the skill that the task is about, and what of it was not to be had."""
    skill = run.request.skill_name
    files = run.skills.files.get(skill, frozenset())
    return (
        *programs_ran(steps, skill=skill, files=files, root=SKILLS, folder=folder),
        *missing_files_read(
            steps, skill=skill, files=files, manual=run.manual, root=SKILLS, folder=folder
        ),
    )


def _skills_steps(
    run: OpenRun, steps: Sequence[TraceStep], ran: Sequence[RanProgram]
) -> frozenset[int]:
    """The steps that run a program of the skill, or a command that it names."""
    named = (index for index, step in enumerate(steps) if run.needs.names_what_runs(step))
    return frozenset([*(each.step for each in ran), *named])


def _attribution(
    run: OpenRun,
    ran: Sequence[RanProgram],
    used: Sequence[SkillUse],
    found: FoundObstacles,
    results_set_aside: bool,
) -> Attribution | None:
    """What part the skill that the task is about had in it; none where agents are not shown it."""
    skill = run.request.skill_name
    if skill not in run.skills.files:
        return None
    return attribute_task(
        ran,
        was_used=any(use.skill == skill for use in used),
        manual=run.manual,
        hindered_steps={each.step for each in found.every if each.step is not None},
        results_set_aside=results_set_aside,
    )


def _results(
    task: Task,
    run: OpenRun,
    produced: Sequence[ProducedFile],
    made: Sequence[str],
    left: Mapping[str, ListedFile],
) -> Results:
    return Results(
        asked_for=frozenset(asked_for(task, made)),
        written={
            path: float(file.changed)
            for path, file in left.items()
            if _SECONDS.fullmatch(file.changed)
        },
        texts={file.path: file.text for file in produced},
        given="\n".join((task.prompt, *(f.content for f in task.files if f.encoding == "text"))),
        manual=run.manual,
    )


def _stamps(files: Mapping[str, ListedFile]) -> dict[str, str]:
    return {path: file.stamp for path, file in files.items()}


def _sizes(files: Mapping[str, ListedFile]) -> dict[str, int]:
    return {path: file.size for path, file in files.items()}
