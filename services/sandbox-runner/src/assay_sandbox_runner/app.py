import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

import structlog

from assay_agentkit.models import model_label, open_model
from assay_sandbox_runner.adapters.bubblewrap import BubblewrapProvider
from assay_sandbox_runner.adapters.bundles import BundlesOnDisk
from assay_sandbox_runner.adapters.deepagents_backend import OUTPUT_BYTES
from assay_sandbox_runner.adapters.executor import DeepAgentExecutors
from assay_sandbox_runner.adapters.patterns import find_pattern
from assay_sandbox_runner.adapters.progress import LiveProgress
from assay_sandbox_runner.adapters.rehearsal import executor_policy
from assay_sandbox_runner.adapters.traces import StoredTraces
from assay_sandbox_runner.checks import CheckTask
from assay_sandbox_runner.handlers import register
from assay_sandbox_runner.ports import Limits, SandboxProvider, SandboxUnavailable
from assay_sandbox_runner.service import CarryOutRun, CleanUp, Keep
from assay_sandbox_runner.settings import Settings
from assay_servicekit.background import background
from assay_servicekit.bus import Bus
from assay_servicekit.service import Service

SWEEP_EVERY = timedelta(minutes=1)

log = structlog.get_logger(__name__)


def create_app(settings: Settings) -> Service:
    """Wire the runner together; nothing is connected yet.

    Raises:
        ModelMisconfigured: the executor's model cannot be opened.
    """
    bus = Bus(settings, "sandbox-runner")
    provider = open_provider(settings)
    bundles = BundlesOnDisk(bus.objects, settings.state_dir)
    run = CarryOutRun(
        provider=provider,
        bundles=bundles,
        traces=StoredTraces(bus.objects),
        progress=LiveProgress(bus),
        executors=DeepAgentExecutors(
            model=open_model(settings.executor_model, policy=executor_policy, settings=settings),
            label=model_label(settings.executor_model),
            model_calls=settings.task_model_calls,
        ),
        check=CheckTask(find_pattern=find_pattern, seconds=settings.check_seconds),
        limits=Limits(
            command_seconds=settings.command_seconds,
            output_bytes=OUTPUT_BYTES,
            memory_bytes=settings.sandbox_memory_mb * 1024**2,
        ),
        task_seconds=settings.task_seconds,
        snapshot_ttl=settings.snapshot_ttl,
    )
    register(bus, settings, run, CleanUp(provider=provider), Keep(provider=provider))
    return Service(
        bus=bus,
        settings=settings,
        before=lambda: sweeping(provider, bundles, every=SWEEP_EVERY),
    )


def open_provider(settings: Settings) -> SandboxProvider:
    """Who provides the sandboxes; nothing is connected yet."""
    if settings.sandbox == "bubblewrap":
        return BubblewrapProvider(settings.state_dir, snapshot_ttl=settings.snapshot_ttl)
    # Half a second of imports that only those who use it should pay for.
    from assay_sandbox_runner.adapters.daytona import Account, DaytonaProvider  # noqa: PLC0415

    assert settings.daytona_api_key is not None
    account = Account(
        api_key=settings.daytona_api_key.get_secret_value(),
        api_url=settings.daytona_api_url,
        target=settings.daytona_target,
        snapshot=settings.daytona_snapshot,
    )
    return DaytonaProvider(
        account,
        # As many in the background as in front, so that neither waits for the other.
        most=2 * settings.concurrency,
        sandbox_ttl=settings.daytona_ttl,
        snapshot_ttl=settings.snapshot_ttl,
    )


@asynccontextmanager
async def sweeping(
    provider: SandboxProvider, bundles: BundlesOnDisk, *, every: timedelta
) -> AsyncIterator[None]:
    """Remove now, and again every so often, what killed processes left behind; close at the end."""

    async def sweep() -> None:
        for what, remove in (
            ("sandboxes", provider.sweep),
            ("bundles", lambda: asyncio.to_thread(bundles.sweep)),
        ):
            await _swept(what, remove)

    async def again() -> None:
        while True:
            await asyncio.sleep(every.total_seconds())
            await sweep()

    try:
        await sweep()
        async with background(sweeper=again()):
            yield
    finally:
        await provider.close()


async def _swept(what: str, remove: Callable[[], Awaitable[list[str]]]) -> None:
    try:
        removed = await remove()
    except (SandboxUnavailable, OSError) as error:
        log.warning("sweep_failed", what=what, reason=str(error))
        return
    if removed:
        log.info("swept", what=what, removed=removed)
