"""What is kept of traces and reports: by rule, and on a real bus and a real database."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from sqlalchemy import func, select, table, text
from sqlalchemy.ext.asyncio import AsyncEngine

from assay_contracts.base import Work
from assay_contracts.review import ApproveSkill, DeleteSkill, ListAudit, RevalidateSkill
from assay_contracts.runs import RunFinished
from assay_scorer.adapters.buckets import JetStreamBuckets
from assay_scorer.adapters.housekeeping import PostgresHousekeeping
from assay_scorer.adapters.outbox import PostgresOutbox
from assay_scorer.adapters.reports import ReportBucket
from assay_scorer.domain.retention import (
    HALF_WRITTEN_AFTER,
    SAID_FOR,
    Kind,
    OwningValidation,
    belongs_to,
    wanted,
)
from assay_scorer.workers.outbox_relay import OutboxRelay
from assay_scorer.workers.retention import Retention
from assay_servicekit.bus import Bus
from assay_servicekit.objects import ObjectMissing
from assay_testkit.scorer import NOW, an_upload, started, well_done
from assay_testkit.scorer_on_database import Scorer

DAY = timedelta(days=1)
KEEP = 30 * DAY
VALIDATION = UUID(int=29)
TAKEN = f"{VALIDATION}.online_run/2/t1.json"
NOT_TAKEN = f"{VALIDATION}.online_run/1/t1.json"
REPORT = f"{VALIDATION}.json"


def recorded(*, ended: timedelta | None, live: bool) -> OwningValidation:
    return OwningValidation(
        validation_id=VALIDATION,
        ended_at=None if ended is None else NOW - ended,
        live=live,
        cited=frozenset({TAKEN}),
    )


@pytest.mark.parametrize(
    ("kind", "key", "of", "expected"),
    [
        ("traces", TAKEN, recorded(ended=900 * DAY, live=True), True),
        ("reports", REPORT, recorded(ended=900 * DAY, live=True), True),
        ("traces", TAKEN, recorded(ended=KEEP - DAY, live=False), True),
        ("traces", TAKEN, recorded(ended=KEEP, live=False), False),
        ("reports", REPORT, recorded(ended=KEEP - DAY, live=False), True),
        ("reports", REPORT, recorded(ended=KEEP, live=False), False),
        ("traces", NOT_TAKEN, recorded(ended=DAY, live=True), False),
        ("traces", NOT_TAKEN, recorded(ended=None, live=True), True),
        ("traces", TAKEN, recorded(ended=None, live=False), True),
        ("traces", TAKEN, None, False),
        ("reports", REPORT, None, False),
    ],
)
def test_what_is_wanted(kind: Kind, key: str, of: OwningValidation | None, expected: bool) -> None:
    assert wanted(kind, key, of, NOW, KEEP) is expected


def test_every_trace_and_report_tells_whose_it_is() -> None:
    assert belongs_to(TAKEN) == belongs_to(REPORT) == VALIDATION
    assert belongs_to("something else") is None


class Clock:
    now = NOW

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def scorer(engine: AsyncEngine, bus: Bus, clock: Clock) -> Scorer:
    return Scorer(engine, reports=ReportBucket(bus.objects), clock=clock)


@pytest.fixture
def retention(engine: AsyncEngine, bus: Bus) -> Retention:
    return Retention(PostgresHousekeeping(engine), JetStreamBuckets(bus), lambda: NOW, keep=KEEP)


async def carry_out(runner: Bus, work: Work) -> RunFinished:
    """A run that went well, with its traces where a runner puts them."""
    result = well_done(work)
    assert isinstance(result, RunFinished)
    outcomes = []
    for outcome in result.outcomes:
        key = f"{work.step_id}/{work.attempt}/{outcome.task_id}.json"
        await runner.objects.put("traces", key, b"trace of " + key.encode())
        outcomes.append(outcome.model_copy(update={"trace_key": key}))
    return result.model_copy(update={"outcomes": tuple(outcomes)})


async def run_to_the_end(scorer: Scorer, runner: Bus, validation_id: UUID) -> None:
    await scorer.start_queued()
    take = scorer.take
    while work := await scorer.open_work(validation_id):
        run = ".online_run" in work[0].step_id or ".offline_run" in work[0].step_id
        await take(await carry_out(runner, work[0]) if run else well_done(work[0]))


async def names(bus: Bus, kind: Kind) -> set[str]:
    """What the bucket holds, read through: a name without its content would fail."""
    found = {each.name async for each in bus.objects.everything(kind)}
    for name in found:
        assert await bus.objects.get(kind, name)
    return found


async def test_only_what_newer_validations_replaced_goes_and_only_after_its_time(
    scorer: Scorer, bus: Bus, runner: Bus, retention: Retention
) -> None:
    reply = await scorer.ask(an_upload())
    await run_to_the_end(scorer, runner, started(reply))
    again = await scorer.ask(RevalidateSkill(skill_id=reply.skill_id, actor="ann"))
    await run_to_the_end(scorer, runner, again.validation_id)
    assert len(await names(bus, "traces")) == 12
    assert len(await names(bus, "reports")) == 4

    assert await retention.sweep(NOW + KEEP) == 0
    assert await retention.sweep(NOW + KEEP + DAY) == 8
    assert {belongs_to(name) for name in await names(bus, "traces")} == {again.validation_id}
    assert {belongs_to(name) for name in await names(bus, "reports")} == {again.validation_id}
    assert await retention.sweep(NOW + 99 * KEEP) == 0
    with pytest.raises(ObjectMissing):
        await bus.objects.get("reports", f"{reply.validation_id}.json")


async def test_what_a_skill_was_approved_by_is_kept_as_long_as_the_skill(
    scorer: Scorer, bus: Bus, runner: Bus, retention: Retention, engine: AsyncEngine
) -> None:
    reply = await scorer.ask(an_upload())
    await run_to_the_end(scorer, runner, started(reply))
    await scorer.ask(ApproveSkill(skill_id=reply.skill_id, actor="ann"))
    async with engine.begin() as connection:
        # As if it had been validated since: nothing in it refers to the version.
        await connection.execute(
            text(
                "insert into validations select (jsonb_populate_record(v, jsonb_build_object("
                "'id', gen_random_uuid(), 'queued_at', v.queued_at + interval '1 hour'))).*"
                " from validations v"
            )
        )
    assert await retention.sweep(NOW + 99 * KEEP) == 0
    assert len(await names(bus, "traces")) == 6

    await scorer.ask(DeleteSkill(skill_id=reply.skill_id, actor="ann"))
    assert await retention.sweep(NOW) == 8
    for kind in ("traces", "reports"):
        assert (await bus.jetstream().stream_info(f"OBJ_{kind}")).state.messages == 0
    entries = (await scorer.ask(ListAudit())).entries
    assert [entry.action for entry in entries] == ["deleted", "approved", "uploaded"]
    async with engine.connect() as connection:
        for name in ("skills", "revisions", "validations"):
            assert not await connection.scalar(select(func.count()).select_from(table(name)))


async def test_traces_of_an_attempt_that_was_not_taken_go_when_the_validation_has_ended(
    scorer: Scorer, bus: Bus, runner: Bus, retention: Retention
) -> None:
    reply = await scorer.ask(an_upload())
    await scorer.start_queued()
    take = scorer.take
    (plan,) = await scorer.open_work(started(reply))
    await take(well_done(plan))
    (run,) = await scorer.open_work(started(reply))
    late = run.model_copy(update={"attempt": 7})
    await carry_out(runner, late)

    assert await retention.sweep(NOW + KEEP) == 0
    await run_to_the_end(scorer, runner, started(reply))
    assert await retention.sweep(NOW) == 3
    assert not any("/7/" in name for name in await names(bus, "traces"))


async def test_what_a_dead_writer_left_goes_after_a_while(
    bus: Bus, runner: Bus, retention: Retention
) -> None:
    await runner.jetstream().publish("$O.traces.C.half-written", b"chunk")
    await retention.sweep(NOW)
    await retention.sweep(NOW + HALF_WRITTEN_AFTER - timedelta(seconds=1))
    assert (await bus.jetstream().stream_info("OBJ_traces")).state.messages == 1
    await retention.sweep(NOW + HALF_WRITTEN_AFTER)
    assert (await bus.jetstream().stream_info("OBJ_traces")).state.messages == 0


async def test_what_was_said_is_forgotten_in_time_and_what_was_not_is_kept(
    scorer: Scorer, bus: Bus, retention: Retention, engine: AsyncEngine
) -> None:
    await scorer.ask(an_upload())
    relay = OutboxRelay(outbox=PostgresOutbox(engine), bus=bus, clock=lambda: datetime.now(UTC))
    assert await relay.relay() == 1
    (said_at,) = await published(engine)
    assert said_at is not None
    await scorer.start_queued()

    await retention.sweep(said_at + SAID_FOR)
    assert await published(engine) == [said_at, None]
    await retention.sweep(said_at + SAID_FOR + timedelta(seconds=1))
    assert await published(engine) == [None]


async def published(engine: AsyncEngine) -> list[datetime | None]:
    async with engine.connect() as connection:
        rows = await connection.execute(text("select published_at from outbox order by id"))
        return [row.published_at for row in rows]


async def test_a_deletion_asks_for_clearing(
    engine: AsyncEngine, bus: Bus, runner: Bus, clock: Clock
) -> None:
    asked: list[bool] = []
    scorer = Scorer(
        engine,
        reports=ReportBucket(bus.objects),
        clock=clock,
        wake_retention=lambda: asked.append(True),
    )
    reply = await scorer.ask(an_upload())
    await run_to_the_end(scorer, runner, started(reply))
    await scorer.ask(ApproveSkill(skill_id=reply.skill_id, actor="ann"))
    assert not asked
    await scorer.ask(DeleteSkill(skill_id=reply.skill_id, actor="ann"))
    assert asked
