import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from assay_rehearsal.executor import executor_policy
from assay_rehearsal.model import model_label, open_model
from assay_sandbox_runner.adapters.bundles import BundlesOnDisk
from assay_sandbox_runner.adapters.deepagents_backend import OUTPUT_BYTES
from assay_sandbox_runner.adapters.document_reader import read_documents
from assay_sandbox_runner.adapters.environments import StoredEnvironments
from assay_sandbox_runner.adapters.executor import DeepAgentsForRun
from assay_sandbox_runner.adapters.neighbours import builtin_neighbours
from assay_sandbox_runner.adapters.patterns import find_passages, find_pattern
from assay_sandbox_runner.adapters.progress import LiveProgress
from assay_sandbox_runner.adapters.tools import lay_out_tools
from assay_sandbox_runner.adapters.traces import StoredTraces
from assay_sandbox_runner.domain.package_managers import package_managers
from assay_sandbox_runner.handlers import register
from assay_sandbox_runner.settings import Settings
from assay_sandbox_runner.use_cases.carry_out_run import CarryOutRun
from assay_sandbox_runner.use_cases.check_task import CheckTask
from assay_sandbox_runner.use_cases.clean_sandbox import CleanSandboxes
from assay_sandbox_runner.use_cases.clean_up import CleanUp
from assay_sandbox_runner.use_cases.find_obstacles import FindObstacles
from assay_sandbox_runner.use_cases.find_other_versions import FindOtherVersions
from assay_sandbox_runner.use_cases.install_declared import InstallDeclared
from assay_sandbox_runner.use_cases.install_packages import InstallPackages
from assay_sandbox_runner.use_cases.keep_snapshots import KeepSnapshots
from assay_sandbox_runner.use_cases.read_results import ReadResults
from assay_sandbox_runner.use_cases.try_near_misses import TryNearMisses
from assay_sandbox_runner.use_cases.try_on_workbench import RunWorkbenchCommand, TryTaskChecks
from assay_sandbox_runner.use_cases.work_on_task import WorkOnTask
from assay_sandbox_runner.workers.sweep import sweeping
from assay_sandboxes.environments.environments import Environments
from assay_sandboxes.port import SKILLS, SandboxProvider
from assay_sandboxes.providers import open_provider
from assay_servicekit.bus import Bus
from assay_servicekit.service import Service


class _Checks(NamedTuple):
    """What looks at results, and where."""

    sandboxes: CleanSandboxes
    check: CheckTask


def create_app(settings: Settings) -> Service:
    """Wire the runner together; nothing is connected yet.

    Raises:
        ModelMisconfigured: the executor's model cannot be opened.
    """
    bus = Bus(settings, "sandbox-runner")
    provider = open_provider(
        settings,
        state_dir=settings.state_dir,
        # As many in the background as in front, so that neither waits for the other.
        at_once=2 * settings.concurrency,
    )
    bundles = BundlesOnDisk(bus.objects, settings.state_dir)
    environments = Environments(
        settings.state_dir / "environments",
        StoredEnvironments(bus.objects),
        provider,
        time_to_live=settings.snapshot_ttl,
    )
    checks = _Checks(
        CleanSandboxes(
            provider=provider,
            tools=lay_out_tools(settings.state_dir),
            limits=settings.limits(output_bytes=OUTPUT_BYTES),
        ),
        CheckTask(find_pattern=find_pattern, seconds=settings.check_seconds),
    )
    places = asyncio.Semaphore(settings.concurrency)
    register(
        bus,
        settings,
        run=carry_out_run(
            settings, bus, provider, environments=environments, bundles=bundles, checks=checks
        ),
        clean_up=CleanUp(environments=environments),
        keep=KeepSnapshots(environments=environments),
        run_command=RunWorkbenchCommand(clean_sandboxes=checks.sandboxes, places=places),
        try_checks=TryTaskChecks(
            clean_sandboxes=checks.sandboxes, check=checks.check, places=places
        ),
    )
    return Service(
        bus=bus,
        settings=settings,
        before=lambda: sweeping_until_closed(provider, environments, bundles),
    )


def carry_out_run(
    settings: Settings,
    bus: Bus,
    provider: SandboxProvider,
    *,
    environments: Environments,
    bundles: BundlesOnDisk,
    checks: _Checks,
) -> CarryOutRun:
    managers = package_managers(skills=SKILLS)
    limits = settings.limits(output_bytes=OUTPUT_BYTES)
    return CarryOutRun(
        provider=provider,
        environments=environments,
        bundles=bundles,
        neighbours=builtin_neighbours(),
        traces=StoredTraces(bus.objects),
        progress=LiveProgress(bus),
        agents_for_run=DeepAgentsForRun(
            model=open_model(
                settings.executor_model,
                policy=executor_policy,
                settings=settings,
                reads_skills=True,
            ),
            label=model_label(settings.executor_model),
            model_calls=settings.task_model_calls,
        ),
        work_on_task=WorkOnTask(
            check=checks.check,
            read_results=ReadResults(read_documents=read_documents, find_passages=find_passages),
            find_obstacles=FindObstacles(limits=limits),
            bundles=bundles,
        ),
        clean_sandboxes=checks.sandboxes,
        try_near_misses=TryNearMisses(),
        install_packages=InstallPackages(managers=managers),
        install_declared=InstallDeclared(managers=managers, seconds=settings.install_seconds),
        find_other_versions=FindOtherVersions(managers=managers),
        limits=limits,
        task_seconds=settings.task_seconds,
        snapshot_ttl=settings.snapshot_ttl,
    )


@asynccontextmanager
async def sweeping_until_closed(
    provider: SandboxProvider, environments: Environments, bundles: BundlesOnDisk
) -> AsyncIterator[None]:
    """Sweep up leftovers while the service runs; at its end, close the sandboxes' provider."""
    try:
        async with sweeping(
            sandboxes=provider.sweep,
            environments=environments.sweep,
            bundles=lambda: asyncio.to_thread(bundles.sweep),
        ):
            yield
    finally:
        await provider.close()
