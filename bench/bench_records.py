"""The records when they have grown: how fast they are read, by which plans, and fill up."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from pydantic import SecretStr
from sqlalchemy import event, text
from sqlalchemy.ext.asyncio import AsyncEngine

from assay_cli.embedded.postgres import PostgresServer
from assay_cli.embedded.process import Child
from assay_contracts.base import Work
from assay_contracts.review import ListAudit
from assay_contracts.rpc import ListSkills, ListValidations
from assay_contracts.validations import ValidationRequested
from assay_scorer.adapters.database import open_engine
from assay_scorer.adapters.environments import as_document
from assay_scorer.adapters.migrate import migrate
from assay_scorer.adapters.records import PostgresRecords
from assay_scorer.app import create_app
from assay_scorer.domain.conductor import decide
from assay_scorer.domain.inputs import Admitted, ConductorInput
from assay_scorer.domain.validation import Validation
from assay_scorer.domain.work import open_work
from assay_scorer.settings import Settings
from assay_servicekit.bus import Bus
from assay_servicekit.service import asgi
from assay_servicekit.settings import ServiceSettings
from assay_testkit.scorer import NOW, a_validation, an_upload, well_done
from assay_testkit.scorer_on_database import Scorer, said
from assay_testkit.servers import private_folder, running_nats
from bench.bare import quantile
from bench.report import Bench

SKILLS: Final = 10_000
VALIDATIONS_EACH: Final = 10
LOOKS: Final = 100
FACTS: Final = 500
GROWING: Final = ("skills", "revisions", "validations", "audit_log", "outbox", "environments")
FILL_S: Final = 600
FILL: Final = (
    """
insert into skills (id, name, status, stage, created_at)
select md5('skill' || n)::uuid, 'skill-' || n || '-' || substr(md5(n::text), 1, 12),
  (array['pending', 'approved', 'rejected', 'rollback_pending'])[1 + n % 4],
  case when n % 4 = 2 then 'failed' else 'completed' end,
  timestamptz '2026-01-01' + n * interval '1 minute'
from generate_series(1, :skills) n
""",
    """
insert into revisions
  (skill_id, number, upload_id, uploaded_by, bundle, manifest, findings, created_at)
select id, 1, gen_random_uuid(), 'ann', cast(:bundle as jsonb), cast(:manifest as jsonb), '[]',
  created_at
from skills
""",
    """
insert into validations (id, skill_id, revision, kind, step, stage, verdict, overall, queued_at,
  started_at, completed_at, detail, tasks_done, tasks_total, layer1_passed, layer2_passed, document)
select gen_random_uuid(), s.id, 1, case k when 1 then 'initial' else 'revalidation' end, 'done',
  case s.status when 'rejected' then 'failed' else 'completed' end,
  case s.status when 'rejected' then 'failed' else 'passed' end, 80,
  s.created_at + k * interval '1 day', s.created_at + k * interval '1 day',
  s.created_at + k * interval '1 day', '', 3, 3, true, true, cast(:document as jsonb)
from skills s, generate_series(1, :each) k
""",
    """
insert into audit_log (at, actor, action, skill_id, skill_name, details)
select v.queued_at, 'ann', 'revalidated', v.skill_id, '', '{}' from validations v
""",
    "vacuum analyze",
)


async def run(bench: Bench) -> None:
    with private_folder() as folder:
        server = PostgresServer(data=folder / "postgres", sockets=folder / "sockets")
        server.initialise()
        child = Child(server.process(folder / "postgres.log"))
        try:
            child.wait_ready()
            for name in ("grown", "facts"):
                server.ensure_database(name)
            await reads(bench, server.url("grown"))
            await facts(bench, server.url("facts"))
        finally:
            child.stop()


# -- reading ------------------------------------------------------------------------------------


async def reads(bench: Bench, url: str) -> None:
    engine = open_engine(url)
    try:
        await migrate(engine)
        began = time.perf_counter()
        await fill(engine)
        bench.show(
            f"{SKILLS:,} skills and {SKILLS * VALIDATIONS_EACH:,} validations made in",
            f"{time.perf_counter() - began:.0f} s",
        )
        records = PostgresRecords(engine)
        newest = await records.skills(ListSkills(size=100))
        ids = [skill.skill_id for skill in newest.skills]
        for what, look in questions(records, ids):
            with noted(engine) as statements:
                await look(0)
            read_whole = [
                found for statement in statements for found in await scanned(engine, statement)
            ]
            times = [await seconds(look, n) for n in range(LOOKS)]
            bench.show(f"{what}: p95", f"{quantile(times, 0.95) * 1000:.1f} ms")
            # No index finds the middle of a name: PostgreSQL's own for that is an extension.
            if not what.startswith("search"):
                bench.hold(f"{what}: growing tables read from end to end", len(read_whole), 0, "")
    finally:
        await engine.dispose()


Look = Callable[[int], Awaitable[object]]


def questions(records: PostgresRecords, ids: Sequence[UUID]) -> Iterator[tuple[str, Look]]:
    def one(n: int) -> UUID:
        return ids[n % len(ids)]

    yield "list, first page", lambda n: records.skills(ListSkills(page=1 + n % 3))
    yield "list, last page", lambda n: records.skills(ListSkills(page=SKILLS // 20 - n % 3))
    yield "list by status", lambda _: records.skills(ListSkills(status="approved"))
    yield "list by stage", lambda _: records.skills(ListSkills(validation_stage="completed"))
    yield "search by part of a name", lambda n: records.skills(ListSkills(q=f"{n % 100:02d}-a"))
    yield "search, nothing found", lambda n: records.skills(ListSkills(q=f"nothing-{n}"))
    yield "detail", lambda n: records.skill(one(n))
    yield "status", lambda n: records.status(one(n))
    yield "report", lambda n: records.ended_validation(one(n))
    yield "history", lambda n: records.validations(ListValidations(skill_id=one(n)))
    yield "audit log", lambda n: records.audit(ListAudit(page=1 + n % 3))
    yield "audit log of a skill", lambda n: records.audit(ListAudit(skill_id=one(n)))


async def seconds(look: Look, n: int) -> float:
    began = time.perf_counter()
    await look(n)
    return time.perf_counter() - began


async def fill(engine: AsyncEngine) -> None:
    upload = an_upload()
    given = {
        "skills": SKILLS,
        "each": VALIDATIONS_EACH,
        "bundle": upload.bundle.model_dump_json(),
        "manifest": upload.manifest.model_dump_json(),
        "document": json.dumps(as_document(ended())),
    }
    async with engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        raw: Any = (await connection.get_raw_connection()).driver_connection
        for statement in FILL:
            # Past SQLAlchemy, which allows no statement this much time.
            compiled = text(statement).compile(dialect=engine.dialect)
            values = [given[name] for name in compiled.positiontup or ()]
            await raw.execute(str(compiled), *values, timeout=FILL_S)


def ended() -> Validation:
    """A validation that has passed, with everything that is known of one."""
    validation = decide(a_validation(), Admitted(), NOW).validation
    while validation.step != "done":
        result = well_done(open_work(validation)[0])
        assert isinstance(result, ConductorInput)
        validation = decide(validation, result, NOW).validation
    return validation


@dataclass(frozen=True)
class Statement:
    sql: str
    parameters: Any


@contextmanager
def noted(engine: AsyncEngine) -> Iterator[list[Statement]]:
    """What the database is asked meanwhile."""
    statements: list[Statement] = []

    def note(_: object, __: object, sql: str, parameters: Any, *___: object) -> None:
        statements.append(Statement(sql, parameters))

    event.listen(engine.sync_engine, "before_cursor_execute", note)
    try:
        yield statements
    finally:
        event.remove(engine.sync_engine, "before_cursor_execute", note)


async def scanned(engine: AsyncEngine, statement: Statement) -> list[str]:
    """The growing tables that are read sequentially, by the plan."""
    async with engine.connect() as connection:
        raw: Any = (await connection.get_raw_connection()).driver_connection
        (plans,) = await raw.fetchrow(
            f"explain (format json) {statement.sql}", *statement.parameters
        )
        return sorted(set(_sequential(plans[0]["Plan"])) & set(GROWING))


def _sequential(plan: dict[str, Any]) -> Iterator[str]:
    if plan["Node Type"] == "Seq Scan":
        yield plan["Relation Name"]
    for part in plan.get("Plans", ()):
        yield from _sequential(part)


# -- taking in ----------------------------------------------------------------------------------


async def facts(bench: Bench, url: str) -> None:
    """How many facts a second one scorer takes in, from the bus through the database."""
    engine = open_engine(url)
    with running_nats() as nats:
        scorer = asgi(
            create_app(
                Settings(nats_url=SecretStr(nats.url("scorer")), database_url=SecretStr(url))
            )
        )
        judge = Bus(ServiceSettings(nats_url=SecretStr(nats.url("judge"))), "judge")
        try:
            await migrate(engine)
            await judge.connect()
            for work in await planning(engine):
                await judge.say(well_done(work))
            began = time.perf_counter()
            async with scorer.router.lifespan_context(scorer):
                started = time.perf_counter()
                before = await left(engine)
                while await left(engine):
                    await asyncio.sleep(0.05)
                taken = before / (time.perf_counter() - started)
            bench.show("a scorer with a backlog starts in", f"{started - began:.2f} s")
            bench.show("facts that one scorer takes in", f"{taken:.0f} per s")
        finally:
            await judge.stop()
            await engine.dispose()


async def planning(engine: AsyncEngine) -> list[Work]:
    """The first work of so many validations, all under way."""
    scorer = Scorer(engine, max_active=FACTS)
    for n in range(FACTS):
        await scorer.ask(an_upload(f"skill-{n}"))
    await scorer.start_queued()
    bodies = await said(engine, ValidationRequested.SUBJECT)
    return [ValidationRequested.model_validate_json(body) for body in bodies]


async def left(engine: AsyncEngine) -> int:
    """How many facts have not been taken in yet."""
    async with engine.connect() as connection:
        return int(
            await connection.scalar(
                text("select count(*) from validations where step = 'planning'")
            )
            or 0
        )
