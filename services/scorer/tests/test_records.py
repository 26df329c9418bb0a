"""The records on a real database: what must be atomic is, and what must be unique is."""

import asyncio

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from assay_contracts.rpc import (
    GetReport,
    GetStatus,
    ListSkills,
)
from assay_contracts.runs import RunFinished
from assay_scorer.adapters.database import open_engine
from assay_scorer.adapters.records import PostgresRecords
from assay_scorer.domain.inputs import Cancelled
from assay_servicekit.bus import Unavailable
from assay_servicekit.telemetry import resumed
from assay_testkit.scorer import an_upload, gone_wrong, started, well_done
from assay_testkit.scorer_on_database import ReportsInMemory, Scorer, said


@pytest.fixture
def scorer(engine: AsyncEngine, reports: ReportsInMemory) -> Scorer:
    return Scorer(engine, reports=reports, max_active=2)


async def test_no_more_than_the_allowed_number_run_at_once_and_the_oldest_go_first(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    replies = [await scorer.upload(an_upload(f"skill-{n}")) for n in range(4)]

    async def stages() -> list[str | None]:
        return [
            (await scorer.ask(GetStatus(skill_id=reply.skill_id))).validation_stage
            for reply in replies
        ]

    assert await stages() == ["layer1", "layer1", "queued", "queued"]
    await scorer.run_to_the_end(started(replies[1]))
    assert await stages() == ["layer1", "completed", "layer1", "queued"]


async def test_work_belongs_to_the_trace_of_its_upload_whoever_starts_it(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    traces = [f"00-{n:032x}-{n:016x}-01" for n in (1, 2)]
    for n, trace in enumerate(traces):
        with resumed(trace):
            await scorer.ask(an_upload(f"skill-{n}"))
    await scorer.start_queued()
    async with engine.connect() as connection:
        kept = await connection.scalars(
            text("select traceparent from outbox where subject = 'validation.requested'")
        )
        assert sorted(kept) == traces


async def test_two_endings_at_once_do_not_admit_too_many(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    replies = [await scorer.upload(an_upload(f"skill-{n}")) for n in range(6)]
    await asyncio.gather(*(scorer.run_to_the_end(started(reply)) for reply in replies[:2]))
    page = await scorer.ask(ListSkills(validation_stage="layer1"))
    assert page.total == 2


async def test_a_duplicate_result_has_one_effect(
    engine: AsyncEngine, scorer: Scorer, reports: ReportsInMemory
) -> None:
    reply = await scorer.upload(an_upload())
    take = scorer.take
    while (await scorer.ask(GetStatus(skill_id=reply.skill_id))).step != "done":
        result = well_done(await scorer.only_work(started(reply)))
        await asyncio.gather(*(take(result) for _ in range(3)))
    assert len(await said(engine, "validation.completed")) == 1
    assert len(await said(engine, "run.requested")) == 2
    view = await scorer.ask(GetReport(skill_id=reply.skill_id))
    assert reports.kept[view.report.markdown_key].startswith(b"# PASSED: csv-analyzer")


async def test_a_report_that_cannot_be_kept_keeps_the_validation_open(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    class Broken:
        async def keep(self, key: str, content: bytes) -> None:
            raise Unavailable(key)

    reply = await scorer.upload(an_upload())
    good = scorer.take
    for _ in range(5):
        await good(well_done(await scorer.only_work(started(reply))))
    broken = Scorer(engine, reports=Broken())
    last = well_done(await scorer.only_work(started(reply)))
    with pytest.raises(Unavailable):
        await broken.take(last)
    assert await said(engine, "validation.completed") == []
    await good(last)
    assert len(await said(engine, "validation.completed")) == 1


async def test_a_retry_waits_for_its_time(engine: AsyncEngine, scorer: Scorer) -> None:
    reply = await scorer.upload(an_upload())
    work = await scorer.only_work(started(reply))
    await scorer.take(gone_wrong(work))
    async with engine.connect() as connection:
        delays = await connection.scalars(
            text("select extract(epoch from due_at - created_at) from outbox order by id")
        )
        assert [float(delay) for delay in delays] == [0.0, 0.0, 2.0]


async def test_what_a_program_says_with_zero_bytes_is_stored(scorer: Scorer) -> None:
    reply = await scorer.upload(an_upload())
    take = scorer.take
    await take(well_done(await scorer.only_work(started(reply))))
    said = "PK\0 \\u0000 \\\0 \\\\u0000"
    run = well_done(await scorer.only_work(started(reply)))
    assert isinstance(run, RunFinished)
    outcomes = tuple(each.model_copy(update={"answer": said}) for each in run.outcomes)
    await take(run.model_copy(update={"outcomes": outcomes}))
    async with scorer.records.transaction() as transaction:
        stored = await transaction.lock_validation(started(reply))
    assert stored is not None
    assert stored.online is not None
    assert {each.answer for each in stored.online.outcomes} == {said.replace("\0", "\ufffd")}


async def test_progress_and_reasons_with_zero_bytes_are_stored(scorer: Scorer) -> None:
    reply = await scorer.upload(an_upload())
    await scorer.records.note_progress(started(reply), "a\0b", 0, 3)
    status = await scorer.records.status(reply.skill_id)
    assert status is not None
    assert status.detail == "a\ufffdb"
    await scorer.conduct(started(reply), Cancelled(why="c\0d"))
    status = await scorer.records.status(reply.skill_id)
    assert status is not None
    assert str(status.reason).startswith("c\ufffdd")


async def test_a_database_that_is_gone_is_unavailable(tmp_path: object) -> None:
    engine = open_engine(f"postgresql+asyncpg://nobody@/nothing?host={tmp_path}")
    with pytest.raises(Unavailable):
        await PostgresRecords(engine).ping()
    await engine.dispose()
