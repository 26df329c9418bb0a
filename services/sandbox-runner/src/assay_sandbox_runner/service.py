"""Use cases: carry a run out, keep or delete what it left."""

import asyncio
import posixpath
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Final

from assay_agentkit.failures import AgentFailed
from assay_agentkit.side_by_side import both, together
from assay_contracts.base import Failure, FailureCategory, Result
from assay_contracts.runs import (
    RunFinished,
    RunKind,
    RunRequested,
    RunTimings,
    TaskOutcome,
    Trace,
)
from assay_contracts.tasks import CheckResult, Task
from assay_contracts.validations import (
    CleanupFinished,
    CleanupRequested,
    KeepFinished,
    KeepRequested,
    ProgressStep,
    ValidationProgressed,
)
from assay_sandbox_runner.checks import CheckTask
from assay_sandbox_runner.domain.attempt import (
    LISTED_CALLS,
    NOTHING_DONE,
    TaskWindow,
    attribute,
    compared,
    files_made,
    outcome_of,
    seconds_for_task,
    shows_nothing,
    tokens_for_task,
)
from assay_sandbox_runner.domain.meeting import meeting_place
from assay_sandbox_runner.domain.packages import told
from assay_sandbox_runner.domain.timing import Stopwatch
from assay_sandbox_runner.domain.usage import skills_used
from assay_sandbox_runner.other_versions import install_packages, offered_instead
from assay_sandbox_runner.ports import (
    SKILLS,
    WORKSPACE,
    Limits,
    Sandbox,
    SandboxProvider,
    SandboxUnavailable,
    SnapshotMissing,
)
from assay_sandbox_runner.run_ports import (
    Bundles,
    Crew,
    Executors,
    MountedSkills,
    Progress,
    StoreFailed,
    Traces,
)

_STEPS: Final[dict[RunKind, ProgressStep]] = {"online": "online_run", "offline": "offline_run"}
_OPEN: Final[tuple[RunKind, ...]] = ("online", "mending")
_LISTED_FILES: Final = 200
_LIST_FILES: Final = (
    "find . -type f -not -path '*/__pycache__/*' -printf '%s %T@ %P\\0' | head -c 100000"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Worked:
    """One task, worked on and checked."""

    trace: Trace
    outcome: TaskOutcome
    window: TaskWindow


@dataclass(frozen=True, slots=True, kw_only=True)
class CarryOutRun:
    """One set of tasks in one sandbox side by side, if they cannot meet outside their folders."""

    provider: SandboxProvider
    bundles: Bundles
    traces: Traces
    progress: Progress
    executors: Executors
    check: CheckTask
    limits: Limits
    task_seconds: float
    """Longest that one task may take, whatever time the run has."""
    snapshot_ttl: timedelta
    """How long a snapshot is there that nobody asks to keep."""

    async def __call__(self, request: RunRequested) -> Result:
        """What came of the tasks; or why the platform could not find out."""
        stopwatch = Stopwatch()
        crew = self.executors(stopwatch)

        def failed(category: FailureCategory, reason: str) -> Result:
            return request.failed(
                Failure.of(
                    category,
                    reason,
                    tokens=crew.use().tokens,
                    while_installing=crew.was_installing(),
                )
            )

        try:
            async with asyncio.timeout(request.time_limit_s) as clock:
                return await self._carry_out(request, crew, stopwatch)
        except TimeoutError:
            if not clock.expired():
                raise
            return failed("timeout", f"The run was not done after {request.time_limit_s:g} s.")
        except SandboxUnavailable as error:
            return failed("sandbox", str(error))
        except AgentFailed as error:
            return failed(error.category, error.reason)
        except StoreFailed as error:
            return failed("bus", str(error))

    async def _carry_out(
        self, request: RunRequested, crew: Crew, stopwatch: Stopwatch
    ) -> RunFinished:
        began = time.perf_counter()
        async with (
            self.bundles.mounted(request.skills) as skills,
            self.provider.open(
                name=f"{request.step_id}.{request.attempt}",
                skills=skills.folder,
                network="open" if request.kind in _OPEN else "blocked",
                base=request.base,
                limits=self.limits,
            ) as sandbox,
        ):
            before = await sandbox.packages()
            install_failure = await install_packages(sandbox, request.install)
            worked = await self._work(request, sandbox, skills, crew, stopwatch)
            before, after = told(before, await sandbox.packages())
            offered = (
                await offered_instead(sandbox, before, after) if request.kind == "online" else ()
            )
            calls = attribute(await sandbox.network_calls(), [each.window for each in worked])
            candidate = None if install_failure else request.capture
            if candidate:
                await sandbox.snapshot(candidate)
            proof = sandbox.proof()
        await together(self.traces.keep(each.outcome.trace_key, each.trace) for each in worked)
        model = crew.use()
        return RunFinished(
            validation_id=request.validation_id,
            step_id=request.step_id,
            attempt=request.attempt,
            outcomes=tuple(each.outcome for each in worked),
            network_calls=calls[:LISTED_CALLS],
            network_calls_omitted=max(0, len(calls) - LISTED_CALLS),
            sandbox=proof,
            candidate=candidate,
            candidate_expires_at=datetime.now(UTC) + self.snapshot_ttl if candidate else None,
            packages_before=before,
            packages_after=after,
            offered=offered,
            install_failure=install_failure,
            model=model,
            timings=RunTimings(
                wall=time.perf_counter() - began, model=model.seconds, commands=stopwatch.seconds
            ),
        )

    async def _work(
        self,
        request: RunRequested,
        sandbox: Sandbox,
        skills: MountedSkills,
        crew: Crew,
        stopwatch: Stopwatch,
    ) -> Sequence[_Worked]:
        total = len(request.tasks)
        texts = await self.bundles.texts(skills, _followed(request, skills))
        apart = meeting_place(texts) is not None
        done = count(1)

        async def work_on(task: Task) -> _Worked:
            worked = await self._work_on(
                task,
                key=f"{request.step_id}/{request.attempt}/{task.task_id}.json",
                seconds=seconds_for_task(
                    run_limit_s=request.time_limit_s,
                    turns=total if apart else 1,
                    ceiling_s=self.task_seconds,
                ),
                tokens=tokens_for_task(request.token_budget, total),
                # On a snapshot, what an earlier run installed may satisfy checks on its own.
                look_beforehand=request.kind == "online",
                sandbox=sandbox,
                skills=skills,
                crew=crew,
                stopwatch=stopwatch,
            )
            number = next(done)
            await self._say(request, f"{number} of {total} tasks done", done=number)
            return worked

        how = "one after another" if apart else "side by side"
        await self._say(request, f"{total} tasks, {how}" if total > 1 else "1 task", done=0)
        if apart:
            return [await work_on(task) for task in request.tasks]
        return await together(work_on(task) for task in request.tasks)

    async def _work_on(
        self,
        task: Task,
        *,
        key: str,
        seconds: float,
        tokens: int | None,
        look_beforehand: bool,
        sandbox: Sandbox,
        skills: MountedSkills,
        crew: Crew,
        stopwatch: Stopwatch,
    ) -> _Worked:
        started, began = datetime.now(UTC), time.perf_counter()
        folder = posixpath.join(WORKSPACE, "tasks", task.task_id)
        await _prepare(sandbox, folder, task)
        given = await _files_in(sandbox, folder)
        attempt, before = await both(
            crew(
                task,
                sandbox=sandbox,
                folder=folder,
                skills=skills.files.keys(),
                seconds=seconds,
                tokens=tokens,
            ),
            # In a folder of its own, so that it need not keep the agent waiting.
            self._checked_before(task, sandbox, stopwatch, wanted=look_beforehand),
        )
        made = files_made(given, await _files_in(sandbox, folder))
        trace = Trace(
            task_id=task.task_id,
            prompt=task.prompt,
            steps=attempt.steps,
            answer=attempt.answer,
            files_made=made[:_LISTED_FILES],
            skills_used=skills_used(attempt.steps, skills.files, root=SKILLS, folder=folder),
            checks=compared(
                before,
                await self.check(
                    task.checks, attempt, sandbox=sandbox, folder=folder, stopwatch=stopwatch
                ),
            ),
            bounds_hit=attempt.bounds_hit,
        )
        return _Worked(
            trace=trace,
            outcome=outcome_of(trace, key=key, seconds=time.perf_counter() - began),
            window=TaskWindow(task.task_id, folder, started, datetime.now(UTC)),
        )

    async def _checked_before(
        self, task: Task, sandbox: Sandbox, stopwatch: Stopwatch, *, wanted: bool
    ) -> tuple[CheckResult, ...]:
        """What the checks say of the input files alone, tried in a folder that goes away again."""
        if not wanted or not task.checks:
            return ()
        folder = posixpath.join(WORKSPACE, "before", task.task_id)
        await _prepare(sandbox, folder, task)
        results = await self.check(
            task.checks, NOTHING_DONE, sandbox=sandbox, folder=folder, stopwatch=stopwatch
        )
        await sandbox.execute(f"rm -rf {folder}")
        if shows_nothing(task, results):
            raise AgentFailed(
                "model",
                f"The plan cannot be used: every check of {task.task_id} passes before any work "
                "is done, so that passing them would show nothing.",
            )
        return results

    async def _say(self, request: RunRequested, detail: str, *, done: int) -> None:
        step = _STEPS.get(request.kind)
        if step is None:  # a regression run is one of many; the scorer tells how many are done
            return
        await self.progress(
            ValidationProgressed(
                validation_id=request.validation_id,
                skill_id=request.skill_id,
                step=step,
                detail=detail,
                tasks_done=done,
                tasks_total=len(request.tasks),
            )
        )


def _followed(request: RunRequested, skills: MountedSkills) -> Sequence[str]:
    """The skills whose instructions the tasks are about."""
    if request.kind != "regression" and request.skill_name in skills.files:
        return (request.skill_name,)
    return tuple(skills.files)


async def _prepare(sandbox: Sandbox, folder: str, task: Task) -> None:
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
    entries = (entry.split(" ", 2) for entry in listed.split("\0"))
    return {entry[2]: " ".join(entry[:2]) for entry in entries if len(entry) == 3}  # noqa: PLR2004


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanUp:
    """Delete snapshots that nobody needs any more."""

    provider: SandboxProvider

    async def __call__(self, request: CleanupRequested) -> Result:
        """Every snapshot is gone; or why not."""
        try:
            for name in request.snapshots:
                await self.provider.delete_snapshot(name)
        except SandboxUnavailable as error:
            return request.failed(Failure.of("sandbox", str(error)))
        return CleanupFinished(
            validation_id=request.validation_id,
            step_id=request.step_id,
            attempt=request.attempt,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """Keep snapshots that became runtime versions."""

    provider: SandboxProvider

    async def __call__(self, request: KeepRequested) -> Result:
        """Every snapshot is kept; or why not."""
        try:
            for name in request.snapshots:
                await self.provider.keep_snapshot(name)
        except SandboxUnavailable as error:
            failed = request.failed(Failure.of("sandbox", str(error)))
            return failed.model_copy(update={"gone": isinstance(error, SnapshotMissing)})
        return KeepFinished(
            validation_id=request.validation_id,
            step_id=request.step_id,
            attempt=request.attempt,
        )
