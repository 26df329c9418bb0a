"""A run from request to result; `CarryOutRun` is the place to start reading this service."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Final

from assay_agentkit.concurrency import run_all, run_both
from assay_agentkit.failures import AgentFailed
from assay_agentkit.task_clock import running_on, stopped_clock
from assay_contracts.base import Failure, FailureCategory, Result
from assay_contracts.coverage import Coverage
from assay_contracts.environments import SealedEnvironment
from assay_contracts.runs import (
    Installation,
    NetworkCall,
    Package,
    RunFinished,
    RunKind,
    RunRequested,
    RunTimings,
)
from assay_contracts.tasks import Task
from assay_sandbox_runner.domain.coverage import SkillUnderTest, Worked, coverage_of
from assay_sandbox_runner.domain.crowd import neighbours_shown
from assay_sandbox_runner.domain.network_calls import (
    attribute_calls,
    listed,
)
from assay_sandbox_runner.domain.network_causes import skill_under_test
from assay_sandbox_runner.domain.packages import declared_names, keep_relevant_requirements
from assay_sandbox_runner.domain.progress import progress_of
from assay_sandbox_runner.domain.shared_places import tasks_must_take_turns
from assay_sandbox_runner.domain.skill_needs import NOTHING_NEEDED, SkillNeeds, skill_needs
from assay_sandbox_runner.domain.task_limits import seconds_for_task, tokens_for_task
from assay_sandbox_runner.domain.timing import Stopwatch
from assay_sandbox_runner.ports import (
    AgentsForRun,
    Bundles,
    Environments,
    ExecutingAgents,
    MountedSkills,
    Progress,
    StoreFailed,
    Traces,
)
from assay_sandbox_runner.use_cases.clean_sandbox import CleanSandboxes
from assay_sandbox_runner.use_cases.find_other_versions import FindOtherVersions
from assay_sandbox_runner.use_cases.install_declared import InstallDeclared
from assay_sandbox_runner.use_cases.install_packages import InstallPackages
from assay_sandbox_runner.use_cases.try_near_misses import TryNearMisses
from assay_sandbox_runner.use_cases.work_on_task import OpenRun, TaskRecord, WorkOnTask
from assay_sandboxes.port import SKILLS, EndedRun, Limits, SandboxProvider, SandboxUnavailable
from assay_servicekit.spending import tell_costs
from assay_skillkit.names import ascii_label

_WITH_NETWORK: Final[tuple[RunKind, ...]] = ("online", "control", "mending")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Packages:
    """What was installed before the run and after it."""

    before: tuple[Package, ...]
    after: tuple[Package, ...]
    other_versions: tuple[Package, ...]
    """Versions that there are of packages that the run replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CarryOutRun:
    """Carry out one set of tasks in one sandbox, and tell what came of them."""

    provider: SandboxProvider
    environments: Environments
    bundles: Bundles
    neighbours: Mapping[str, str]
    """The built-in skills that can fill up a crowd: for each name, its SKILL.md."""
    traces: Traces
    progress: Progress
    agents_for_run: AgentsForRun
    work_on_task: WorkOnTask
    clean_sandboxes: CleanSandboxes
    try_near_misses: TryNearMisses
    install_packages: InstallPackages
    install_declared: InstallDeclared
    find_other_versions: FindOtherVersions
    limits: Limits
    task_seconds: float
    """Longest that one task may take, whatever time the run has."""
    snapshot_ttl: timedelta
    """How long a snapshot is there that nobody asks to keep."""

    async def __call__(self, request: RunRequested) -> Result:
        """What came of the tasks; or why the platform could not find out."""
        stopwatch = Stopwatch()
        agents = self.agents_for_run(stopwatch)
        tell_costs(agents.model_use)
        tell_costs(agents.near_miss_use)
        try:
            async with asyncio.timeout(request.time_limit_s) as clock:
                with running_on(clock):
                    return await self._carry_out(request, agents, stopwatch)
        except TimeoutError:
            if not clock.expired():
                raise
            reason = f"The run was not done after {request.time_limit_s:g} s."
            return _failed(request, agents, "timeout", reason)
        except SandboxUnavailable as error:
            return _failed(request, agents, "sandbox", str(error))
        except AgentFailed as error:
            return _failed(request, agents, error.category, error.reason)
        except StoreFailed as error:
            return _failed(request, agents, "bus", str(error))

    async def _carry_out(
        self, request: RunRequested, agents: ExecutingAgents, stopwatch: Stopwatch
    ) -> RunFinished:
        began = time.perf_counter()
        async with self._opened(request, agents, stopwatch) as run:
            packages_before = await run.sandbox.packages()
            install_failure = await self.install_packages(run.sandbox, request.install)
            installations = await self._install_declared(run)
            tasks, near_misses = await run_both(self._work_on_tasks(run), self.try_near_misses(run))
            calls = await self._network_calls(run, tasks)
            coverage, tasks = await self._covered(run, tasks)
            packages = await self._compare_packages(run, packages_before)
            candidate = None if install_failure else request.capture
            sealed = await self._seal(run, candidate, packages) if candidate else None
            proof = run.sandbox.proof()
        await run_all(self.traces.keep(task.outcome.trace_key, task.trace) for task in tasks)
        model = agents.model_use()
        return RunFinished(
            validation_id=request.validation_id,
            step_id=request.step_id,
            attempt=request.attempt,
            outcomes=tuple(task.outcome for task in tasks),
            coverage=coverage,
            network_calls=(shown := listed(calls)),
            network_calls_omitted=len(calls) - len(shown),
            near_misses=near_misses,
            neighbours=run.skills.neighbours,
            sandbox=proof,
            candidate=candidate,
            candidate_expires_at=datetime.now(UTC) + self.snapshot_ttl if candidate else None,
            sealed=sealed,
            packages_before=packages.before,
            packages_after=packages.after,
            offered=packages.other_versions,
            installations=installations,
            install_failure=install_failure,
            model=model,
            near_miss_model=agents.near_miss_use() if request.near_misses else None,
            timings=RunTimings(
                wall=time.perf_counter() - began, model=model.seconds, commands=stopwatch.seconds
            ),
        )

    @asynccontextmanager
    async def _opened(
        self, request: RunRequested, agents: ExecutingAgents, stopwatch: Stopwatch
    ) -> AsyncIterator[OpenRun]:
        """The skills laid out and a sandbox that shows them; both are gone afterwards."""
        opened = await self.environments.open(
            request.base, skill=request.skill_name, without=request.without
        )
        name = ascii_label(f"{request.step_id}.{request.attempt}")
        async with (
            self.bundles.mounted(request.skills, neighbours=self._crowd(request)) as skills,
            self.clean_sandboxes.lazily(f"{name}-checks") as clean,
            self.provider.open(
                name=name,
                skills=skills.folder,
                network="open" if request.kind in _WITH_NETWORK else "blocked",
                environment=opened.environment,
                limits=self.limits,
            ) as sandbox,
        ):
            yield OpenRun(
                request=request,
                sandbox=sandbox,
                environment=opened,
                skills=skills,
                manual=await self.bundles.manual(skills, request.skill_name),
                agents=agents,
                stopwatch=stopwatch,
                needs=await self._needs(request, skills),
                clean=clean,
            )

    async def _needs(self, request: RunRequested, skills: MountedSkills) -> SkillNeeds:
        files = skills.files.get(request.skill_name)
        if files is None:
            return NOTHING_NEEDED
        texts = await self.bundles.texts(skills, (request.skill_name,))
        return await asyncio.to_thread(skill_needs, files, texts, request.dependencies)

    async def _install_declared(self, run: OpenRun) -> tuple[Installation, ...]:
        """Before the tasks, and at no cost to their time."""
        if not run.request.dependencies.are_installed:
            return ()
        await self._tell_progress(run, "installing what the skill declares", 0)
        with stopped_clock(), run.stopwatch.running():
            return await self.install_declared(run.sandbox, run.request.dependencies)

    def _crowd(self, request: RunRequested) -> Mapping[str, str]:
        if not request.tasks:
            return {}
        mounted = [skill.name for skill in request.skills]
        shown = neighbours_shown(self.neighbours, mounted=mounted, under_test=request.skill_name)
        return {name: self.neighbours[name] for name in shown}

    async def _work_on_tasks(self, run: OpenRun) -> Sequence[TaskRecord]:
        """Side by side, unless the tasks could meet in a place outside their folders."""
        tasks = run.request.tasks
        texts = await self.bundles.texts(run.skills, _skills_followed(run.request, run.skills))
        take_turns = tasks_must_take_turns(texts)
        seconds = seconds_for_task(
            run_limit_s=run.request.time_limit_s,
            turns=len(tasks) if take_turns else 1,
            ceiling_s=self.task_seconds,
        )
        tokens = tokens_for_task(
            run.request.token_budget, len(tasks), near_misses=len(run.request.near_misses)
        )
        numbers = count(1)

        async def work_on(task: Task) -> TaskRecord:
            record = await self.work_on_task(task, run, seconds=seconds, tokens=tokens)
            done = next(numbers)
            await self._tell_progress(run, f"{done} of {len(tasks)} tasks done", done)
            return record

        how = "one after another" if take_turns else "side by side"
        plan = f"{len(tasks)} tasks, {how}" if len(tasks) > 1 else "1 task"
        await self._tell_progress(run, plan, 0)
        if take_turns:
            return [await work_on(task) for task in tasks]
        return await run_all(work_on(task) for task in tasks)

    async def _network_calls(
        self, run: OpenRun, tasks: Sequence[TaskRecord]
    ) -> tuple[NetworkCall, ...]:
        """Those of the tasks: what reached out before them was our own installing."""
        began = min((task.window.started for task in tasks), default=None)
        calls = await run.sandbox.network_calls() if began else []
        observed = [call for call in calls if began is not None and call.at >= began]
        name = run.request.skill_name
        files = run.skills.files.get(name)
        if not observed or files is None:
            return attribute_calls(observed, [task.window for task in tasks], None)
        texts = await self.bundles.texts(run.skills, (name,))
        skill = await asyncio.to_thread(skill_under_test, name, files, list(texts.values()))
        return attribute_calls(observed, [task.window for task in tasks], skill)

    async def _covered(
        self, run: OpenRun, tasks: Sequence[TaskRecord]
    ) -> tuple[Coverage | None, Sequence[TaskRecord]]:
        """What of the skill that the tasks are about was tried, and the tasks that know of it.

        None where agents are not shown the skill.
        """
        name = run.request.skill_name
        files = run.skills.files.get(name)
        if files is None or not tasks:
            return None, tasks
        texts = await self.bundles.texts(run.skills, (name,))
        skill = SkillUnderTest(
            name=name,
            manual=run.manual,
            files=files,
            texts={path.removeprefix(f"{name}/"): text for path, text in texts.items()},
            root=SKILLS,
        )
        by_id = {task.task_id: task for task in run.request.tasks}
        worked = [
            Worked(
                task=by_id[each.trace.task_id],
                trace=each.trace,
                folder=each.window.folder,
                obstacles={
                    obstacle.step: f"{obstacle.kind.replace('_', ' ')} {obstacle.what}"
                    for obstacle in reversed(each.trace.obstacles)
                    if obstacle.step is not None
                },
            )
            for each in tasks
        ]
        rehearsed = run.agents.model_use().is_rehearsal
        coverage, shows = await asyncio.to_thread(coverage_of, skill, worked, rehearsed=rehearsed)
        return coverage, [each.showing(shows.get(each.trace.task_id)) for each in tasks]

    async def _seal(self, run: OpenRun, name: str, packages: _Packages) -> SealedEnvironment:
        """What the run installed, built anew from a lock; nothing else of it is kept."""
        return await self.environments.seal(
            name,
            run.environment,
            run.sandbox,
            EndedRun(
                skill=run.request.skill_name,
                before=packages.before,
                after=packages.after,
                declared=declared_names(run.request.dependencies),
                bundles=run.skills.folder,
            ),
        )

    async def _compare_packages(self, run: OpenRun, before: tuple[Package, ...]) -> _Packages:
        before, after = keep_relevant_requirements(before, await run.sandbox.packages())
        other_versions: tuple[Package, ...] = ()
        if run.request.kind == "online":
            other_versions = await self.find_other_versions(run.sandbox, before, after)
        return _Packages(before=before, after=after, other_versions=other_versions)

    async def _tell_progress(self, run: OpenRun, detail: str, tasks_done: int) -> None:
        progress = progress_of(run.request, detail, tasks_done=tasks_done)
        if progress is not None:
            await self.progress(progress)


def _skills_followed(request: RunRequested, skills: MountedSkills) -> Sequence[str]:
    """The skills whose instructions the tasks are about."""
    if request.kind != "regression" and request.skill_name in skills.files:
        return (request.skill_name,)
    return tuple(name for name in skills.files if name not in skills.neighbours)


def _failed(
    request: RunRequested, agents: ExecutingAgents, category: FailureCategory, reason: str
) -> Result:
    return request.failed(
        Failure.of(
            category,
            reason,
            while_installing=agents.was_installing(),
        )
    )
