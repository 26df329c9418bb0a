import posixpath
import re
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from assay_agentkit.concurrency import run_both
from assay_agentkit.failures import AgentFailed
from assay_contracts.attribution import Attribution
from assay_contracts.runs import RunRequested, SkillUse, TaskOutcome, Trace, TraceStep
from assay_contracts.tasks import CheckResult, Task
from assay_sandbox_runner.domain.attribution import attribute_task
from assay_sandbox_runner.domain.check_results import prove_nothing, with_results_before
from assay_sandbox_runner.domain.network_calls import TaskWindow
from assay_sandbox_runner.domain.outcome import files_made, outcome_of
from assay_sandbox_runner.domain.produced_files import checked_paths
from assay_sandbox_runner.domain.program_runs import programs_ran
from assay_sandbox_runner.domain.skill_text import passages_of, skill_files_read
from assay_sandbox_runner.domain.timing import Stopwatch
from assay_sandbox_runner.domain.usage import skills_used
from assay_sandbox_runner.domain.work_done import NOTHING_DONE
from assay_sandbox_runner.ports import Bundles, ExecutingAgents, MountedSkills
from assay_sandbox_runner.use_cases.check_task import CheckTask
from assay_sandbox_runner.use_cases.read_results import ReadResults
from assay_sandboxes.port import SKILLS, WORKSPACE, OpenedEnvironment, Sandbox, SandboxUnavailable

_LISTED_FILES: Final = 200
_LIST_FILES: Final = (
    "find . -type f -not -path '*/__pycache__/*' -printf '%s %T@ %P\\0' | head -c 100000"
)
_PRINT_NAMED: Final = "-printf '%s %T@ %p\\0'"
_SIZE_AND_TIME_THEN_PATH: Final = re.compile(r"(\S+ \S+) (.+)", re.DOTALL)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRecord:
    """What is known of a task that was worked on and checked."""

    trace: Trace
    outcome: TaskOutcome
    window: TaskWindow


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkOnTask:
    """Let an agent work on one task, check what it left behind, and write down the trace."""

    check: CheckTask
    read_results: ReadResults
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
        await _make_folder(run.sandbox, folder, task)
        named = checked_paths(task.checks)
        given = await _files_in(run.sandbox, folder, named)
        work, checked_before = await run_both(
            run.agents.work_on(
                task,
                sandbox=run.sandbox,
                folder=folder,
                skills=run.skills.files.keys(),
                seconds=seconds,
                tokens=tokens,
            ),
            # In a folder of its own, so that it need not keep the agent waiting.
            self._check_before_work(task, run),
        )
        left = await _files_in(run.sandbox, folder, named)
        made = files_made(given, left)
        # Before the checks, whose commands may change files.
        produced = await self.read_results(
            task, sandbox=run.sandbox, folder=folder, sizes=_sizes(left), made=made
        )
        checked = await self.check(
            task.checks, work, sandbox=run.sandbox, folder=folder, stopwatch=run.stopwatch
        )
        used = skills_used(work.steps, run.skills.files, root=SKILLS, folder=folder)
        trace = Trace(
            task_id=task.task_id,
            prompt=task.prompt,
            steps=await self._with_skill_text(work.steps, run, folder),
            answer=work.answer,
            files_made=made[:_LISTED_FILES],
            produced=produced,
            skills_used=used,
            attribution=_attribution(run, work.steps, used, folder),
            checks=with_results_before(checked, checked_before),
            bounds_hit=work.bounds_hit,
        )
        key = f"{run.request.step_id}/{run.request.attempt}/{task.task_id}.json"
        return TaskRecord(
            trace=trace,
            outcome=outcome_of(trace, key=key, seconds=time.perf_counter() - began),
            window=TaskWindow(task.task_id, folder, started, datetime.now(UTC)),
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

    async def _check_before_work(self, task: Task, run: OpenRun) -> tuple[CheckResult, ...]:
        """What the checks say of the input files alone, tried in a folder that goes away again."""
        # On a snapshot, what an earlier run installed may satisfy checks on its own.
        if run.request.kind not in ("online", "control") or not task.checks:
            return ()
        folder = posixpath.join(WORKSPACE, "before", task.task_id)
        await _make_folder(run.sandbox, folder, task)
        results = await self.check(
            task.checks, NOTHING_DONE, sandbox=run.sandbox, folder=folder, stopwatch=run.stopwatch
        )
        await run.sandbox.execute(f"rm -rf {folder}")
        if prove_nothing(task, results):
            raise AgentFailed(
                "model",
                f"The plan cannot be used: every check of {task.task_id} passes before any work "
                "is done, so that passing them would show nothing.",
            )
        return results


def _attribution(
    run: OpenRun, steps: Sequence[TraceStep], used: Sequence[SkillUse], folder: str
) -> Attribution | None:
    """What part the skill that the task is about had in it; none where agents are not shown it."""
    skill = run.request.skill_name
    files = run.skills.files.get(skill)
    if files is None:
        return None
    return attribute_task(
        programs_ran(steps, skill=skill, files=files, root=SKILLS, folder=folder),
        was_used=any(use.skill == skill for use in used),
        manual=run.manual,
    )


async def _make_folder(sandbox: Sandbox, folder: str, task: Task) -> None:
    """Make the task's folder and put its input files there."""
    made = await sandbox.execute(f"mkdir -p {folder}")
    if made.exit_code != 0:
        raise SandboxUnavailable(f"The task's folder could not be made: {made.output[:500]}")
    answers = await sandbox.upload(
        [(posixpath.join(folder, file.path), file.content.encode()) for file in task.files]
    )
    for answer in answers:
        if answer is not None:
            raise SandboxUnavailable(
                f"Input file {answer.path} could not be put into the sandbox: {answer.problem}"
            )


async def _files_in(sandbox: Sandbox, folder: str, named: Sequence[str]) -> dict[str, str]:
    """Each file below the folder with its size and time of change, the first of very many.

    Those in `named` are there however many there are.
    """
    command = _LIST_FILES
    if named:
        paths = " ".join(shlex.quote(f"./{path}") for path in named)
        command = f"find -L {paths} -maxdepth 0 -type f {_PRINT_NAMED} 2>/dev/null; {command}"
    listed = (await sandbox.execute(command, cwd=folder)).stdout
    entries = map(_SIZE_AND_TIME_THEN_PATH.fullmatch, listed.split("\0"))
    return {entry[2].removeprefix("./"): entry[1] for entry in entries if entry}


def _sizes(stamps: Mapping[str, str]) -> dict[str, int]:
    return {path: int(stamp.split()[0]) for path, stamp in stamps.items()}
