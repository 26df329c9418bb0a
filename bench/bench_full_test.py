"""A full test of many skills with instant runs: how much of its time it has five under way."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Final

from pydantic import SecretStr
from sqlalchemy import insert, text
from sqlalchemy.ext.asyncio import AsyncEngine

from assay_cli.embedded.postgres import PostgresServer
from assay_cli.embedded.process import Child
from assay_contracts.base import Result, Work
from assay_contracts.full_tests import FullTestSummary, ListFullTests, StartFullTest
from assay_contracts.topology import WORKERS
from assay_scorer.adapters.database import open_engine
from assay_scorer.adapters.migrate import migrate
from assay_scorer.adapters.tables import RevisionRow, SkillRow, ValidationRow, VersionRow
from assay_scorer.adapters.validations import validation_row
from assay_scorer.app import create_app
from assay_scorer.domain.conductor import decide
from assay_scorer.domain.inputs import Admitted, ConductorInput
from assay_scorer.domain.validation import Validation
from assay_scorer.domain.work import open_work
from assay_scorer.settings import Settings
from assay_servicekit.bus import Bus
from assay_servicekit.service import asgi
from assay_servicekit.settings import ServiceSettings
from assay_testkit.scorer import NOW, a_validation, well_done
from assay_testkit.servers import RunningNats, private_folder, running_nats
from bench.report import Bench

SKILLS: Final = 200
AT_ONCE: Final = 5
SHARE_OF_IDEAL: Final = 0.9
PATIENCE_S: Final = 600


async def run(bench: Bench) -> None:
    with private_folder() as folder, running_nats() as nats:
        server = PostgresServer(data=folder / "postgres", sockets=folder / "sockets")
        server.initialise()
        child = Child(server.process(folder / "postgres.log"))
        try:
            child.wait_ready()
            server.ensure_database("full_test")
            await full_test(bench, nats, server.url("full_test"))
        finally:
            child.stop()


async def full_test(bench: Bench, nats: RunningNats, url: str) -> None:
    engine = open_engine(url)
    scorer = asgi(
        create_app(Settings(nats_url=SecretStr(nats.url("scorer")), database_url=SecretStr(url)))
    )
    try:
        await migrate(engine)
        await approve(engine, SKILLS)
        async with (
            scorer.router.lifespan_context(scorer),
            instant_workers(nats),
            asker(nats) as gateway,
        ):
            began = time.perf_counter()
            await gateway.ask(StartFullTest(actor="bench"))
            bench.show(
                f"a full test of {SKILLS} skills is accepted in",
                f"{time.perf_counter() - began:.2f} s",
            )
            ended = await completed(gateway)
        assert ended.counts.passed == SKILLS, ended.counts
        assert ended.completed_at is not None
        wall = (ended.completed_at - ended.started_at).total_seconds()
        times = await own_times(engine)
        bench.show("it takes", f"{wall:.1f} s, {SKILLS / wall:.1f} skills a second")
        ideal = sum(times) / AT_ONCE
        bench.reach(
            f"of the ideal of {AT_ONCE} at once, by the skills' own times",
            ideal / wall,
            SHARE_OF_IDEAL,
            "",
        )
    finally:
        await engine.dispose()


async def approve(engine: AsyncEngine, count: int) -> None:
    """As many approved skills, each with the validation and the version it was approved by."""
    validations = [passed(f"skill-{number:03d}") for number in range(1, count + 1)]
    common = {"created_at": NOW, "status": "approved"}
    async with engine.begin() as connection:
        await connection.execute(
            insert(SkillRow),
            [{"id": each.skill_id, "name": each.skill_name, **common} for each in validations],
        )
        await connection.execute(
            insert(RevisionRow),
            [
                {
                    "skill_id": each.skill_id,
                    "number": each.revision,
                    "upload_id": each.validation_id,
                    "uploaded_by": "bench",
                    "bundle": each.bundle.model_dump(mode="json"),
                    "manifest": each.manifest.model_dump(mode="json"),
                    "findings": [],
                    "created_at": NOW,
                }
                for each in validations
            ],
        )
        await connection.execute(
            insert(ValidationRow), [validation_row(each, None) for each in validations]
        )
        await connection.execute(text("update runtime_versions set current = false"))
        await connection.execute(insert(VersionRow), versions(validations))


def passed(name: str) -> Validation:
    """A validation that went well."""
    validation = decide(a_validation(name), Admitted(), NOW).validation
    while work := open_work(validation):
        result = well_done(work[0])
        assert isinstance(result, ConductorInput)
        validation = decide(validation, result, NOW).validation
    return validation


def versions(validations: Sequence[Validation]) -> list[dict[str, object]]:
    now = datetime.now(UTC)
    return [
        {
            "number": number,
            "built_on": number - 1,
            "snapshot": each.candidate,
            "validation_id": each.validation_id,
            "skill_id": each.skill_id,
            "skill_name": each.skill_name,
            "skill_revision": each.revision,
            "created_at": now,
            "created_by": "bench",
            "current": number == len(validations),
            "available": number == len(validations),
            "kept": True,
            "keep_attempt": 1,
            "keep_asked_at": now,
        }
        for number, each in enumerate(validations, start=1)
    ]


@asynccontextmanager
async def instant_workers(nats: RunningNats) -> AsyncIterator[None]:
    """A judge and a runner that do everything well and at once."""

    async def at_once(work: Work) -> Result:
        return well_done(work)

    judge = Bus(ServiceSettings(nats_url=SecretStr(nats.url("judge"))), "judge")
    runner = Bus(ServiceSettings(nats_url=SecretStr(nats.url("sandbox-runner"))), "sandbox-runner")
    buses = {"judge": judge, "sandbox-runner": runner}
    for request, service in WORKERS.items():
        buses[service].on_work(request, at_once, slots=AT_ONCE)
    for bus in buses.values():
        await bus.connect()
        await bus.start()
    try:
        yield
    finally:
        for bus in buses.values():
            await bus.stop()


@asynccontextmanager
async def asker(nats: RunningNats) -> AsyncIterator[Bus]:
    bus = Bus(ServiceSettings(nats_url=SecretStr(nats.url("gateway"))), "gateway")
    await bus.connect()
    await bus.start()
    try:
        yield bus
    finally:
        await bus.stop()


async def completed(gateway: Bus) -> FullTestSummary:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            # Looking at every skill would cost the scorer time that is not the full test's.
            (newest,) = (await gateway.ask(ListFullTests(size=1), timeout_s=60)).full_tests
            if newest.completed_at is not None:
                return newest
            await asyncio.sleep(1)


async def own_times(engine: AsyncEngine) -> list[float]:
    """Seconds that each skill was under way."""
    async with engine.connect() as connection:
        rows = await connection.scalars(
            text(
                "select extract(epoch from completed_at - started_at) from validations"
                " where kind = 'full_test'"
            )
        )
        return [float(seconds) for seconds in rows]
