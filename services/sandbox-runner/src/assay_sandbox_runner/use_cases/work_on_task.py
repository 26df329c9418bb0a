import posixpath
import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from assay_agentkit.concurrency import run_both
from assay_agentkit.failures import AgentFailed
from assay_contracts.runs import RunRequested, TaskOutcome, Trace
from assay_contracts.tasks import CheckResult, Task
from assay_sandbox_runner.domain.check_results import prove_nothing, with_results_before
from assay_sandbox_runner.domain.network_calls import TaskWindow
from assay_sandbox_runner.domain.outcome import files_made, outcome_of
from assay_sandbox_runner.domain.timing import Stopwatch
from assay_sandbox_runner.domain.usage import skills_used
from assay_sandbox_runner.domain.work_done import NOTHING_DONE
from assay_sandbox_runner.ports import ExecutingAgents, MountedSkills
from assay_sandbox_runner.use_cases.check_task import CheckTask
from assay_sandboxes.port import SKILLS, WORKSPACE, Sandbox, SandboxUnavailable

_LISTED_FILES: Final = 200
_LIST_FILES: Final = (
    "find . -type f -not -path '*/__pycache__/*' -printf '%s %T@ %P\\0' | head -c 100000"
)
_SIZE_AND_TIME_THEN_PATH: Final = re.compile(r"(\S+ \S+) (.+)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRun:
    """A run whose sandbox is open: what all of its tasks share."""

    request: RunRequested
    sandbox: Sandbox
    skills: MountedSkills
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
        given = await _files_in(run.sandbox, folder)
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
        made = files_made(given, await _files_in(run.sandbox, folder))
        checked = await self.check(
            task.checks, work, sandbox=run.sandbox, folder=folder, stopwatch=run.stopwatch
        )
        trace = Trace(
            task_id=task.task_id,
            prompt=task.prompt,
            steps=work.steps,
            answer=work.answer,
            files_made=made[:_LISTED_FILES],
            skills_used=skills_used(work.steps, run.skills.files, root=SKILLS, folder=folder),
            checks=with_results_before(checked, checked_before),
            bounds_hit=work.bounds_hit,
        )
        key = f"{run.request.step_id}/{run.request.attempt}/{task.task_id}.json"
        return TaskRecord(
            trace=trace,
            outcome=outcome_of(trace, key=key, seconds=time.perf_counter() - began),
            window=TaskWindow(task.task_id, folder, started, datetime.now(UTC)),
        )

    async def _check_before_work(self, task: Task, run: OpenRun) -> tuple[CheckResult, ...]:
        """What the checks say of the input files alone, tried in a folder that goes away again."""
        # On a snapshot, what an earlier run installed may satisfy checks on its own.
        if run.request.kind != "online" or not task.checks:
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


async def _files_in(sandbox: Sandbox, folder: str) -> dict[str, str]:
    """Each file below the folder with its size and time of change."""
    listed = (await sandbox.execute(_LIST_FILES, cwd=folder)).stdout
    entries = map(_SIZE_AND_TIME_THEN_PATH.fullmatch, listed.split("\0"))
    return {entry[2]: entry[1] for entry in entries if entry}
