"""The records on a real database: what must be atomic is, and what must be unique is."""

import asyncio
from collections.abc import Awaitable, Callable
from uuid import UUID, uuid4

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncEngine

from assay_contracts.base import Work
from assay_contracts.rpc import (
    GetBundle,
    GetReport,
    GetSkill,
    GetStatus,
    ListSkills,
    ListValidations,
    ProblemError,
    RegisterReply,
    RegisterSkill,
)
from assay_contracts.runs import RunFinished
from assay_contracts.validations import ValidationProgressed
from assay_scorer.adapters.database import open_engine
from assay_scorer.adapters.migrate import alembic_config
from assay_scorer.adapters.records import PostgresRecords
from assay_scorer.adapters.tables import Base
from assay_scorer.domain.inputs import Cancelled
from assay_servicekit.bus import Unavailable
from assay_servicekit.telemetry import resumed
from assay_testkit.scorer import an_upload, gone_wrong, started, well_done
from assay_testkit.scorer_use_cases import ReportsInMemory, Scorer, said

Uploading = Callable[[RegisterSkill], Awaitable[RegisterReply]]


@pytest.fixture
def reports() -> ReportsInMemory:
    return ReportsInMemory()


@pytest.fixture
def scorer(engine: AsyncEngine, reports: ReportsInMemory) -> Scorer:
    return Scorer(engine, reports=reports, max_active=2)


@pytest.fixture
def register(scorer: Scorer) -> Uploading:
    """Register an upload and start it if there is room, as the running service does."""
    record = scorer.register

    async def registered(upload: RegisterSkill) -> RegisterReply:
        reply = await record(upload)
        await scorer.start_queued()
        return reply

    return registered


async def newest_work(scorer: Scorer, validation_id: UUID) -> Work:
    (work,) = await scorer.open_work(validation_id)
    return work


async def test_an_upload_is_recorded_announced_and_started(
    engine: AsyncEngine, register: Uploading, scorer: Scorer
) -> None:
    reply = await register(an_upload())
    assert len(await said(engine, "skill.uploaded")) == 1
    assert len(await said(engine, "validation.requested")) == 1
    detail = await scorer.find_skill(GetSkill(skill_id=reply.skill_id))
    assert (detail.name, detail.status, detail.validation_stage) == (
        "csv-analyzer",
        "validating",
        "layer1",
    )


async def test_the_same_upload_twice_is_one_upload(
    engine: AsyncEngine, register: Uploading
) -> None:
    upload = an_upload()
    first, second = await register(upload), await register(upload)
    assert (second.skill_id, second.validation_id) == (first.skill_id, first.validation_id)
    assert len(await said(engine, "skill.uploaded")) == 1


async def test_of_many_uploads_of_one_name_one_is_taken(register: Uploading) -> None:
    answers = await asyncio.gather(
        *(register(an_upload()) for _ in range(12)), return_exceptions=True
    )
    taken = [answer for answer in answers if isinstance(answer, RegisterReply)]
    refused = [answer for answer in answers if isinstance(answer, ProblemError)]
    assert (len(taken), len(refused)) == (1, 11)
    assert {error.problem.code for error in refused} == {"SKILL_ALREADY_EXISTS"}
    assert {error.problem.details.skill_id for error in refused} == {taken[0].skill_id}


async def rejected(scorer: Scorer, reply: RegisterReply) -> None:
    take = scorer.take
    for grade in (5, 5, 1, 5):
        await take(well_done(await newest_work(scorer, started(reply)), grade=grade))


async def test_identical_content_is_recognised(register: Uploading) -> None:
    first = await register(an_upload(sha256="1" * 64))
    for sha256, same_as in (("1" * 64, 1), ("2" * 64, None)):
        with pytest.raises(ProblemError) as refused:
            await register(an_upload(sha256=sha256))
        problem = refused.value.problem
        assert problem.code == "SKILL_ALREADY_EXISTS"
        assert problem.details.skill_id == first.skill_id
        assert problem.details.same_as_revision == same_as
        assert ("This very content" in problem.message) == (same_as is not None)


async def test_a_rejected_skill_may_come_again_as_its_next_revision(
    engine: AsyncEngine, register: Uploading, scorer: Scorer
) -> None:
    contents = ("1" * 64, "2" * 64, "1" * 64)
    replies = []
    for sha256 in contents:
        replies.append(await register(an_upload(sha256=sha256)))
        await rejected(scorer, replies[-1])
    assert len({reply.skill_id for reply in replies}) == 1
    assert [(reply.revision, reply.same_as_revision) for reply in replies] == [
        (1, None),
        (2, None),
        (3, 1),
    ]
    detail = await scorer.find_skill(GetSkill(skill_id=replies[0].skill_id))
    assert (detail.revision, detail.status, detail.bundle_sha256) == (3, "rejected", "1" * 64)
    async with engine.connect() as connection:
        kept = await connection.scalars(
            text("select revision from validations where verdict = 'failed' order by revision")
        )
        assert list(kept) == [1, 2, 3]
    bundle = await scorer.find_bundle(GetBundle(skill_id=replies[0].skill_id))
    assert (bundle.revision, bundle.bundle.sha256) == (3, "1" * 64)


async def test_reports_of_older_validations_are_still_found(
    register: Uploading, scorer: Scorer
) -> None:
    first = await register(an_upload(sha256="1" * 64))
    await rejected(scorer, first)
    second = await register(an_upload(sha256="2" * 64))
    for asked, code in (
        (first.validation_id, None),
        (second.validation_id, "VALIDATION_NOT_COMPLETED"),
        (uuid4(), "NOT_FOUND"),
    ):
        question = GetReport(skill_id=first.skill_id, validation_id=asked)
        if code is None:
            assert (await scorer.find_report(question)).validation_id == asked
            continue
        with pytest.raises(ProblemError) as refused:
            await scorer.find_report(question)
        assert refused.value.problem.code == code


async def test_of_many_next_revisions_at_once_one_is_taken(
    engine: AsyncEngine, register: Uploading, scorer: Scorer
) -> None:
    await rejected(scorer, await register(an_upload()))
    upload = an_upload()
    answers = await asyncio.gather(
        *(register(an_upload()) for _ in range(4)),
        *(register(upload) for _ in range(4)),
        return_exceptions=True,
    )
    taken = [answer for answer in answers if isinstance(answer, RegisterReply)]
    assert {reply.revision for reply in taken} == {2}
    assert len({reply.validation_id for reply in taken}) == 1


async def test_no_more_than_the_allowed_number_run_at_once_and_the_oldest_go_first(
    engine: AsyncEngine, register: Uploading, scorer: Scorer
) -> None:
    replies = [await register(an_upload(f"skill-{n}")) for n in range(4)]

    async def stages() -> list[str | None]:
        return [
            (await scorer.find_status(GetStatus(skill_id=reply.skill_id))).validation_stage
            for reply in replies
        ]

    assert await stages() == ["layer1", "layer1", "queued", "queued"]
    await scorer.run_to_the_end(started(replies[1]))
    assert await stages() == ["layer1", "completed", "layer1", "queued"]


async def test_work_belongs_to_the_trace_of_its_upload_whoever_starts_it(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    record = scorer.register
    traces = [f"00-{n:032x}-{n:016x}-01" for n in (1, 2)]
    for n, trace in enumerate(traces):
        with resumed(trace):
            await record(an_upload(f"skill-{n}"))
    await scorer.start_queued()
    async with engine.connect() as connection:
        kept = await connection.scalars(
            text("select traceparent from outbox where subject = 'validation.requested'")
        )
        assert sorted(kept) == traces


async def test_two_endings_at_once_do_not_admit_too_many(
    engine: AsyncEngine, register: Uploading, scorer: Scorer
) -> None:
    replies = [await register(an_upload(f"skill-{n}")) for n in range(6)]
    await asyncio.gather(*(scorer.run_to_the_end(started(reply)) for reply in replies[:2]))
    page = await scorer.find_skills(ListSkills(validation_stage="layer1"))
    assert page.total == 2


async def test_a_duplicate_result_has_one_effect(
    engine: AsyncEngine, register: Uploading, scorer: Scorer, reports: ReportsInMemory
) -> None:
    reply = await register(an_upload())
    take = scorer.take
    while (await scorer.find_status(GetStatus(skill_id=reply.skill_id))).step != "done":
        result = well_done(await newest_work(scorer, started(reply)))
        await asyncio.gather(*(take(result) for _ in range(3)))
    assert len(await said(engine, "validation.completed")) == 1
    assert len(await said(engine, "run.requested")) == 2
    view = await scorer.find_report(GetReport(skill_id=reply.skill_id))
    assert reports.kept[view.report.markdown_key].startswith(b"# PASSED: csv-analyzer")


async def test_a_report_that_cannot_be_kept_keeps_the_validation_open(
    engine: AsyncEngine, register: Uploading, scorer: Scorer
) -> None:
    class Broken:
        async def keep(self, key: str, content: bytes) -> None:
            raise Unavailable(key)

    reply = await register(an_upload())
    good = scorer.take
    for _ in range(5):
        await good(well_done(await newest_work(scorer, started(reply))))
    broken = Scorer(engine, reports=Broken())
    last = well_done(await newest_work(scorer, started(reply)))
    with pytest.raises(Unavailable):
        await broken.take(last)
    assert await said(engine, "validation.completed") == []
    await good(last)
    assert len(await said(engine, "validation.completed")) == 1


async def test_a_retry_waits_for_its_time(
    engine: AsyncEngine, register: Uploading, scorer: Scorer
) -> None:
    reply = await register(an_upload())
    work = await newest_work(scorer, started(reply))
    await scorer.take(gone_wrong(work))
    async with engine.connect() as connection:
        delays = await connection.scalars(
            text("select extract(epoch from due_at - created_at) from outbox order by id")
        )
        assert [float(delay) for delay in delays] == [0.0, 0.0, 2.0]


async def test_status_tells_the_task_under_way(register: Uploading, scorer: Scorer) -> None:
    reply = await register(an_upload())
    await scorer.note_progress(
        ValidationProgressed(
            validation_id=reply.validation_id,
            skill_id=reply.skill_id,
            step="planning",
            detail="task 2 of 3",
            tasks_done=1,
            tasks_total=3,
        )
    )
    status = await scorer.find_status(GetStatus(skill_id=reply.skill_id))
    assert (status.detail, status.tasks_done, status.tasks_total) == ("task 2 of 3", 1, 3)


async def test_what_a_program_says_with_zero_bytes_is_stored(
    register: Uploading, scorer: Scorer
) -> None:
    reply = await register(an_upload())
    take = scorer.take
    await take(well_done(await newest_work(scorer, started(reply))))
    said = "PK\0 \\u0000 \\\0 \\\\u0000"
    run = well_done(await newest_work(scorer, started(reply)))
    assert isinstance(run, RunFinished)
    outcomes = tuple(each.model_copy(update={"answer": said}) for each in run.outcomes)
    await take(run.model_copy(update={"outcomes": outcomes}))
    async with scorer.records.transaction() as transaction:
        stored = await transaction.lock_validation(started(reply))
    assert stored is not None
    assert stored.online is not None
    assert {each.answer for each in stored.online.outcomes} == {said.replace("\0", "\ufffd")}


async def test_progress_and_reasons_with_zero_bytes_are_stored(
    register: Uploading, scorer: Scorer
) -> None:
    reply = await register(an_upload())
    await scorer.records.note_progress(started(reply), "a\0b", 0, 3)
    status = await scorer.records.status(reply.skill_id)
    assert status is not None
    assert status.detail == "a\ufffdb"
    await scorer.conduct(started(reply), Cancelled(why="c\0d"))
    status = await scorer.records.status(reply.skill_id)
    assert status is not None
    assert str(status.reason).startswith("c\ufffdd")


async def test_skills_are_listed_newest_first_filtered_and_searched(
    register: Uploading, scorer: Scorer
) -> None:
    for name in ("pdf-tools", "csv-analyzer", "csv_odd"):
        await register(an_upload(name))
    everything = await scorer.find_skills(ListSkills())
    assert [skill.name for skill in everything.skills] == ["csv_odd", "csv-analyzer", "pdf-tools"]
    assert (await scorer.find_skills(ListSkills(q="CSV"))).total == 2
    assert (await scorer.find_skills(ListSkills(q="csv_"))).total == 1
    assert (await scorer.find_skills(ListSkills(validation_stage="queued"))).total == 1
    assert (await scorer.find_skills(ListSkills(status="approved"))).total == 0
    second = await scorer.find_skills(ListSkills(page=2, size=2))
    assert [skill.name for skill in second.skills] == ["pdf-tools"]
    assert second.total == 3


async def test_what_is_not_there_is_said_so(register: Uploading, scorer: Scorer) -> None:
    with pytest.raises(ProblemError) as unknown:
        await scorer.find_skill(GetSkill(skill_id=uuid4()))
    assert unknown.value.problem.code == "SKILL_NOT_FOUND"
    reply = await register(an_upload())
    with pytest.raises(ProblemError) as early:
        await scorer.find_report(GetReport(skill_id=reply.skill_id))
    assert early.value.problem.code == "VALIDATION_NOT_COMPLETED"


async def test_a_database_that_is_gone_is_unavailable(tmp_path: object) -> None:
    engine = open_engine(f"postgresql+asyncpg://nobody@/nothing?host={tmp_path}")
    with pytest.raises(Unavailable):
        await PostgresRecords(engine).ping()
    await engine.dispose()


async def test_migrations_go_up_down_and_up_and_match_the_tables(database_url: str) -> None:
    engine = open_engine(database_url)

    def differences(connection: Connection) -> list[object]:
        config = alembic_config(connection)
        for revision in ("head", "base", "head"):
            (command.downgrade if revision == "base" else command.upgrade)(config, revision)
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        return list(compare_metadata(context, Base.metadata))

    async with engine.begin() as connection:
        assert await connection.run_sync(differences) == []
    await engine.dispose()


async def test_an_upload_that_is_not_to_be_validated_waits_until_somebody_asks(
    engine: AsyncEngine, register: Uploading, scorer: Scorer
) -> None:
    upload = an_upload(start_validation=False)
    reply = await register(upload)
    assert (reply.status, reply.validation_id) == ("pending", None)
    assert await register(upload) == reply
    assert len(await said(engine, "skill.uploaded")) == 1
    assert await said(engine, "validation.requested") == []
    (listed,) = (await scorer.find_skills(ListSkills())).skills
    assert (listed.skill_id, listed.status, listed.validation_stage) == (
        reply.skill_id,
        "pending",
        None,
    )
    detail = await scorer.find_skill(GetSkill(skill_id=reply.skill_id))
    assert (detail.revision, detail.validation_id, detail.verdict) == (1, None, None)
    status = await scorer.find_status(GetStatus(skill_id=reply.skill_id))
    assert (status.status, status.step, status.progress) == ("pending", None, 0.0)
    history = await scorer.find_validations(ListValidations(skill_id=reply.skill_id))
    assert (history.validations, history.total) == ((), 0)
    with pytest.raises(ProblemError) as refused:
        await scorer.find_report(GetReport(skill_id=reply.skill_id))
    assert refused.value.problem.code == "VALIDATION_NOT_COMPLETED"
    assert "has not been validated" in refused.value.problem.message


async def test_a_revision_that_is_not_validated_shows_nothing_of_the_one_before(
    register: Uploading, scorer: Scorer
) -> None:
    first = await register(an_upload(sha256="1" * 64))
    await rejected(scorer, first)
    second = await register(an_upload(sha256="2" * 64, start_validation=False))
    assert (second.skill_id, second.revision, second.status) == (first.skill_id, 2, "pending")
    detail = await scorer.find_skill(GetSkill(skill_id=first.skill_id))
    assert (detail.revision, detail.status, detail.verdict, detail.scores) == (
        2,
        "pending",
        None,
        None,
    )
    history = await scorer.find_validations(ListValidations(skill_id=first.skill_id))
    assert [(each.revision, each.verdict) for each in history.validations] == [(1, "failed")]
