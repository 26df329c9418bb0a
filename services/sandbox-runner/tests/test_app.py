"""The service as it runs: on a real bus, with real sandboxes."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from assay_contracts.runs import RunFinished, Trace
from assay_contracts.tasks import FileCheck
from assay_contracts.validations import CleanupFinished, CleanupRequested, ValidationProgressed
from assay_sandbox_runner.adapters.bundles import BundlesOnDisk
from assay_sandbox_runner.app import create_app
from assay_sandbox_runner.settings import Settings
from assay_sandbox_runner.workers.sweep import FAILED, sweeping
from assay_sandboxes.fake.provider import FakeProvider
from assay_sandboxes.port import SandboxUnavailable
from assay_servicekit.bus import Bus
from assay_servicekit.settings import ServiceSettings
from assay_testkit.runner import Store, a_run, a_task, about_snapshots
from assay_testkit.servers import RunningNats

PATIENCE_S = 20.0


class Scorer:
    """Asks for work as the scorer does, and hears what comes of it."""

    def __init__(self, server: RunningNats) -> None:
        self.bus = Bus(ServiceSettings(nats_url=SecretStr(server.url("scorer"))), "scorer")
        self.runs: asyncio.Queue[RunFinished] = asyncio.Queue()
        self.cleanups: asyncio.Queue[CleanupFinished] = asyncio.Queue()
        self.progress: asyncio.Queue[ValidationProgressed] = asyncio.Queue()
        self.bus.on_fact(RunFinished, self.runs.put)
        self.bus.on_fact(CleanupFinished, self.cleanups.put)
        self.bus.on_live(ValidationProgressed, self.progress.put)


@asynccontextmanager
async def started(bus: Bus) -> AsyncIterator[None]:
    await bus.connect()
    await bus.start()
    try:
        yield
    finally:
        await bus.stop()


@pytest.fixture
def settings(fresh_nats_server: RunningNats, tmp_path: Path) -> Settings:
    return Settings(nats_url=SecretStr(fresh_nats_server.url("sandbox-runner")), state_dir=tmp_path)


async def test_run_asked_for_on_the_bus(fresh_nats_server: RunningNats, settings: Settings) -> None:
    scorer, store = Scorer(fresh_nats_server), Store()
    skill = store.add_skill()
    request = a_run(
        "online", skill, tasks=(a_task("t1", FileCheck(path="report.txt")),), capture="candidate"
    )
    service = create_app(settings)
    ingest = Bus(ServiceSettings(nats_url=SecretStr(fresh_nats_server.url("ingest"))), "ingest")
    async with started(scorer.bus), started(ingest), service.before(), started(service.bus):
        await ingest.objects.put("bundles", skill.bundle.key, store.objects[skill.bundle.key])
        await scorer.bus.say(request)
        result = await asyncio.wait_for(scorer.runs.get(), PATIENCE_S)

        assert result.failure is None
        (outcome,) = result.outcomes
        assert outcome.checks[0].passed
        stored = await scorer.bus.objects.get("traces", outcome.trace_key)
        assert Trace.model_validate_json(stored).checks == outcome.checks
        progress = await asyncio.wait_for(scorer.progress.get(), PATIENCE_S)
        assert progress.detail == "1 task"

        await scorer.bus.say(about_snapshots(CleanupRequested, "candidate"))
        cleaned = await asyncio.wait_for(scorer.cleanups.get(), PATIENCE_S)
        assert cleaned.failure is None


class Unsteady(FakeProvider):
    """Fails its first sweeps, and tells when it has been asked for one."""

    def __init__(self) -> None:
        super().__init__()
        self.sweeps: asyncio.Queue[None] = asyncio.Queue()
        self._failures: Iterator[Exception] = iter(
            [SandboxUnavailable("not now"), RecursionError("too deep")]
        )

    async def sweep(self) -> list[str]:
        self.sweeps.put_nowait(None)
        if failure := next(self._failures, None):
            raise failure
        return ["left-behind"]


async def test_sweeping_goes_on_after_any_failure_and_counts_it(tmp_path: Path) -> None:
    provider, bundles = Unsteady(), BundlesOnDisk(Store(), tmp_path)
    before = FAILED.labels("sandboxes")._value.get()

    async with sweeping(
        sandboxes=provider.sweep,
        bundles=lambda: asyncio.to_thread(bundles.sweep),
        every=timedelta(milliseconds=10),
    ):
        for _ in range(3):
            await asyncio.wait_for(provider.sweeps.get(), PATIENCE_S)
    assert FAILED.labels("sandboxes")._value.get() == before + 2


def test_unknown_sandbox_is_refused_at_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NATS_URL", "nats://localhost:4222")
    monkeypatch.setenv("ASSAY_SANDBOX", "docker")

    with pytest.raises(ValidationError, match=r"ASSAY_SANDBOX\n.*'bubblewrap'"):
        Settings()


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NATS_URL", "nats://localhost:4222")
    monkeypatch.setenv("ASSAY_RUNNER_CONCURRENCY", "2")
    monkeypatch.setenv("ASSAY_EXECUTOR_MODEL", "openai:gpt-5")
    monkeypatch.setenv("ASSAY_MODEL_BASE_URL", "http://localhost:1/v1")

    settings = Settings()

    assert settings.concurrency == 2
    assert settings.executor_model == "openai:gpt-5"
    assert settings.model_base_url == "http://localhost:1/v1"
