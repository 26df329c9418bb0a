"""Review and runtime versions on a real database: atomic, one after another, told once."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast
from uuid import UUID, uuid4

import pytest
from alembic import command
from sqlalchemy import Connection, CursorResult, Executable, text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from assay_contracts.base import Failure, FailureCategory
from assay_contracts.review import (
    ApproveReply,
    ApproveSkill,
    CancelValidation,
    DeleteSkill,
    ListAudit,
    RejectSkill,
    RevalidateSkill,
    SkillApproved,
    SkillDeleted,
    SkillRejected,
)
from assay_contracts.rpc import (
    GetSkill,
    GetStatus,
    ListValidations,
    ProblemError,
    RegisterReply,
    SkillStatusView,
)
from assay_contracts.runtime import (
    ListVersions,
    RollbackRuntime,
    RuntimePromoted,
    RuntimeRolledBack,
)
from assay_contracts.validations import CleanupRequested, KeepFinished, KeepRequested
from assay_scorer.adapters.database import open_engine
from assay_scorer.adapters.environments import Environments
from assay_scorer.adapters.migrate import alembic_config
from assay_scorer.adapters.records import PostgresRecords
from assay_scorer.adapters.runtime_versions import PostgresRuntimeVersionChanges
from assay_scorer.domain.runtime_versions import ASK_AGAIN_AFTER
from assay_scorer.domain.validation import Validation
from assay_scorer.domain.work import open_work
from assay_scorer.recompute import recompute
from assay_testkit.scorer import a_validation, an_upload, gone_wrong, started, well_done
from assay_testkit.scorer_use_cases import Scorer, SettableClock, refusal_of, said


async def code_of(attempt: Awaitable[object]) -> str:
    return (await refusal_of(attempt)).code


async def status_of(scorer: Scorer, skill_id: UUID) -> str:
    return (await scorer.find_skill(GetSkill(skill_id=skill_id))).status


def approve(skill: RegisterReply) -> ApproveSkill:
    return ApproveSkill(skill_id=skill.skill_id, actor="ann")


def rollback(version: str, *, dry_run: bool = False) -> RollbackRuntime:
    return RollbackRuntime(target_version=version, actor="ann", dry_run=dry_run)


async def test_approval_promotes_the_candidate_and_tells_once(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    skill = await scorer.validated("alpha")
    answer = await scorer.approve(approve(skill))
    assert (answer.status, answer.runtime_version) == ("approved", "v1.1")
    assert await status_of(scorer, skill.skill_id) == "approved"
    versions = await scorer.find_versions(ListVersions())
    assert versions.current_version == "v1.1"
    assert [(v.version, v.built_on, v.skill_name, v.is_current) for v in versions.versions] == [
        ("v1.1", "v1.0", "alpha", True),
        ("v1.0", None, None, False),
    ]
    (approved,) = map(SkillApproved.model_validate_json, await said(engine, "skill.approved"))
    assert (approved.skill_id, approved.actor) == (skill.skill_id, "ann")
    assert approved.validation_id == skill.validation_id
    (promoted,) = map(RuntimePromoted.model_validate_json, await said(engine, "runtime.promoted"))
    assert (promoted.version, promoted.built_on) == ("v1.1", "v1.0")
    (keep,) = map(KeepRequested.model_validate_json, await said(engine, "keep.requested"))
    assert keep.snapshots == (promoted.snapshot,)
    assert await code_of(scorer.approve(approve(skill))) == "INVALID_STATUS_TRANSITION"
    assert len(await said(engine, "skill.approved")) == 1


async def test_what_is_approved_is_there_for_the_next_validation(scorer: Scorer) -> None:
    first = await scorer.validated("alpha")
    await scorer.approve(approve(first))
    upload = await scorer.register(an_upload("beta"))
    await scorer.start_queued()
    async with scorer.records.transaction() as transaction:
        validation = await transaction.lock_validation(started(upload))
    assert validation is not None
    assert validation.environment.runtime_version == 1
    assert validation.environment.snapshot == f"{first.validation_id}-1"
    (approved,) = validation.environment.approved
    assert (approved.skill_id, approved.name) == (first.skill_id, "alpha")
    assert [task.task_id for task in approved.tasks] == ["t1", "t2", "t3"]
    assert approved.grades == {"t1": 5, "t2": 5, "t3": 5}


class Interrupted:
    """A connection on which something happens elsewhere after the first statement."""

    def __init__(self, connection: AsyncConnection, meanwhile: Awaitable[object]) -> None:
        self._connection = connection
        self._meanwhile: Awaitable[object] | None = meanwhile

    async def execute(self, statement: Executable) -> CursorResult[Any]:
        result = await self._connection.execute(statement)
        if self._meanwhile is not None:
            meanwhile, self._meanwhile = self._meanwhile, None
            await meanwhile
        return result


async def test_a_version_and_the_skills_in_it_are_of_one_moment(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    await scorer.approve(approve(await scorer.validated("alpha")))
    beta = await scorer.validated("beta")
    async with engine.begin() as connection:
        interrupted = Interrupted(connection, scorer.approve(approve(beta)))
        transaction = PostgresRuntimeVersionChanges(
            cast("AsyncConnection", interrupted), Environments()
        )
        environments = [await transaction.current_environment() for _ in range(2)]
    assert [(each.runtime_version, len(each.approved)) for each in environments] == [(1, 1), (2, 2)]


async def test_a_broken_approved_skill_is_named_when_approval_is_refused(scorer: Scorer) -> None:
    await scorer.approve(approve(await scorer.validated("alpha")))
    await scorer.approve(approve(await scorer.validated("beta")))
    upload = await scorer.register(an_upload("gamma"))
    await scorer.start_queued()
    await scorer.run_to_the_end(started(upload), beta=1)
    detail = await scorer.find_skill(GetSkill(skill_id=upload.skill_id))
    assert (detail.status, detail.validation_stage) == ("rejected", "failed")
    assert (detail.layer1_passed, detail.layer2_passed) == (True, False)
    with pytest.raises(ProblemError) as refused:
        await scorer.approve(approve(upload))
    assert refused.value.problem.code == "REGRESSION_FAILED"
    assert refused.value.problem.details.failed_skills == ("beta",)


async def test_of_two_approvals_at_once_one_is_told_to_revalidate(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    skills = [await scorer.validated(name) for name in ("alpha", "beta", "gamma")]
    answers = await asyncio.gather(
        *(scorer.approve(approve(skill)) for skill in skills), return_exceptions=True
    )
    (taken,) = [answer for answer in answers if isinstance(answer, ApproveReply)]
    refused = [answer for answer in answers if isinstance(answer, ProblemError)]
    assert taken.runtime_version == "v1.1"
    assert len(refused) == 2
    for error in refused:
        assert error.problem.code == "INVALID_STATUS_TRANSITION"
        assert "v1.0" in error.problem.message
        assert "Revalidate" in error.problem.message
    assert len(await said(engine, "runtime.promoted")) == 1

    again = next(skill for skill in skills if skill.skill_id != taken.skill_id)
    started = await scorer.revalidate(RevalidateSkill(skill_id=again.skill_id, actor="ann"))
    await scorer.start_queued()
    await scorer.run_to_the_end(started.validation_id)
    assert (await scorer.approve(approve(again))).runtime_version == "v1.2"
    assert (await scorer.find_versions(ListVersions())).current_version == "v1.2"


async def test_a_candidate_that_will_not_be_approved_is_deleted(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    rejected, revalidated = await scorer.validated("alpha"), await scorer.validated("beta")
    answer = await scorer.reject(
        RejectSkill(skill_id=rejected.skill_id, actor="ann", reason="Too narrow.")
    )
    assert (answer.status, answer.reject_reason) == ("rejected", "Too narrow.")
    (fact,) = map(SkillRejected.model_validate_json, await said(engine, "skill.rejected"))
    assert (fact.skill_name, fact.reason) == ("alpha", "Too narrow.")
    await scorer.revalidate(RevalidateSkill(skill_id=revalidated.skill_id, actor="ann"))
    cleanups = map(CleanupRequested.model_validate_json, await said(engine, "cleanup.requested"))
    assert [cleanup.snapshots for cleanup in cleanups] == [
        (f"{rejected.validation_id}-1",),
        (f"{revalidated.validation_id}-1",),
    ]


async def test_a_skill_is_validated_once_at_a_time(scorer: Scorer) -> None:
    skill = await scorer.validated("alpha")
    question = RevalidateSkill(skill_id=skill.skill_id, actor="ann")
    answers = await asyncio.gather(
        *(scorer.revalidate(question) for _ in range(5)), return_exceptions=True
    )
    refused = [answer for answer in answers if isinstance(answer, ProblemError)]
    assert len(refused) == 4
    assert {error.problem.code for error in refused} == {"VALIDATION_IN_PROGRESS"}


async def test_a_deleted_skill_is_gone_and_its_name_is_free(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    skill = await scorer.validated("alpha")
    delete = DeleteSkill(skill_id=skill.skill_id, actor="bob")
    assert await code_of(scorer.delete(delete)) == "INVALID_STATUS_TRANSITION"
    await scorer.approve(approve(skill))
    await scorer.delete(delete)
    assert await code_of(scorer.delete(delete)) == "SKILL_NOT_FOUND"
    (fact,) = map(SkillDeleted.model_validate_json, await said(engine, "skill.deleted"))
    assert (fact.skill_id, fact.actor) == (skill.skill_id, "bob")
    again = await scorer.validated("alpha")
    assert again.skill_id != skill.skill_id
    audit = await scorer.read_audit(ListAudit(skill_id=skill.skill_id))
    assert [(entry.action, entry.actor) for entry in audit.entries] == [
        ("deleted", "bob"),
        ("approved", "ann"),
        ("uploaded", "admin"),
    ]
    assert audit.entries[1].details["runtime_version"] == "v1.1"
    assert {entry.skill_name for entry in audit.entries} == {"alpha"}


async def test_a_validation_can_be_cancelled_queued_or_under_way(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    register = scorer.register
    running = await register(an_upload("alpha"))
    await scorer.start_queued()
    queued = await register(an_upload("beta"))
    for skill in (running, queued):
        question = CancelValidation(skill_id=skill.skill_id, actor="ann")
        assert (await scorer.cancel(question)).validation_id == skill.validation_id
        status = await scorer.find_status(GetStatus(skill_id=skill.skill_id))
        assert (status.validation_stage, status.status) == ("inconclusive", "pending")
        assert str(status.reason).startswith("Cancelled by ann")
        assert await code_of(scorer.cancel(question)) == "INVALID_STATUS_TRANSITION"
    assert len(await said(engine, "validation.completed")) == 2
    unknown = CancelValidation(skill_id=uuid4(), actor="ann")
    assert await code_of(scorer.cancel(unknown)) == "SKILL_NOT_FOUND"


@dataclass
class OftenRevalidated(PostgresRecords):
    """Records in which a skill is validated again right after somebody looked at its status."""

    engine: AsyncEngine
    again: Callable[[], Awaitable[object]]
    times: int

    def __post_init__(self) -> None:
        super().__init__(self.engine)

    async def status(self, skill_id: UUID) -> SkillStatusView | None:
        status = await super().status(skill_id)
        if self.times > 0:
            self.times -= 1
            await self.again()
        return status


@pytest.mark.parametrize(("times", "told"), [(1, True), (100, False)])
async def test_what_is_told_to_be_cancelled_is(
    *, engine: AsyncEngine, scorer: Scorer, times: int, told: bool
) -> None:
    skill = await scorer.validated("alpha")

    async def again() -> None:
        with suppress(ProblemError):
            await scorer.cancel(CancelValidation(skill_id=skill.skill_id, actor="bob"))
        await scorer.revalidate(RevalidateSkill(skill_id=skill.skill_id, actor="bob"))

    busy = Scorer(engine, records=OftenRevalidated(engine, again, times))
    question = CancelValidation(skill_id=skill.skill_id, actor="ann")
    cancel = busy.cancel(question)
    if not told:
        assert await code_of(cancel) == "INVALID_STATUS_TRANSITION"
        return
    reply = await cancel
    assert reply.validation_id != skill.validation_id
    status = await scorer.records.status(skill.skill_id)
    assert status is not None
    assert (status.validation_id, status.step) == (reply.validation_id, "done")
    audit = await scorer.read_audit(ListAudit(size=1))
    assert audit.entries[0].details == {"validation_id": str(reply.validation_id)}


async def test_a_late_result_does_not_undo_an_approval(scorer: Scorer) -> None:
    upload = await scorer.register(an_upload("alpha"))
    await scorer.start_queued()
    take = scorer.take
    await take(well_done((await scorer.open_work(started(upload)))[0]))
    (online,) = await scorer.open_work(started(upload))
    await scorer.run_to_the_end(started(upload))
    await scorer.approve(approve(upload))
    late = well_done(online).model_copy(update={"attempt": 2, "candidate": "another"})
    await take(late)
    assert await status_of(scorer, upload.skill_id) == "approved"


async def test_rollback_hides_what_came_later_and_rolling_forward_shows_it_again(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    skills = {}
    for name in ("alpha", "beta", "gamma", "delta"):
        skills[name] = await scorer.validated(name)
        await scorer.approve(approve(skills[name]))

    async def shown() -> set[str]:
        return {
            name
            for name, skill in skills.items()
            if await status_of(scorer, skill.skill_id) == "approved"
        }

    told = await scorer.rollback(rollback("v1.2", dry_run=True))
    assert (told.previous_version, told.current_version) == ("v1.4", "v1.2")
    assert (told.hidden_skills, told.restored_skills) == (("delta", "gamma"), ())
    assert await shown() == set(skills)
    assert await said(engine, "runtime.rolled-back") == []

    back = await scorer.rollback(rollback("v1.2"))
    assert (back.previous_version, back.current_version) == ("v1.4", "v1.2")
    assert back.hidden_skills == ("delta", "gamma")
    assert await shown() == {"alpha", "beta"}
    assert await status_of(scorer, skills["gamma"].skill_id) == "rollback_pending"
    (fact,) = map(RuntimeRolledBack.model_validate_json, await said(engine, "runtime.rolled-back"))
    assert (fact.current_version, fact.hidden_skills) == ("v1.2", ("delta", "gamma"))

    forward = await scorer.rollback(rollback("v1.3"))
    assert (forward.hidden_skills, forward.restored_skills) == ((), ("gamma",))
    assert await shown() == {"alpha", "beta", "gamma"}

    again = skills["delta"]
    started = await scorer.revalidate(RevalidateSkill(skill_id=again.skill_id, actor="ann"))
    await scorer.start_queued()
    await scorer.run_to_the_end(started.validation_id)
    assert (await scorer.approve(approve(again))).runtime_version == "v1.5"
    versions = await scorer.find_versions(ListVersions())
    assert versions.versions[0].built_on == "v1.3"
    assert (await scorer.rollback(rollback("v1.0"))).hidden_skills == (
        "alpha",
        "beta",
        "delta",
        "gamma",
    )


async def test_a_rollback_to_what_is_not_there_is_refused(scorer: Scorer) -> None:
    assert await code_of(scorer.rollback(rollback("v1.7"))) == "IMAGE_NOT_FOUND"
    assert await code_of(scorer.rollback(rollback("v1.0"))) == "INVALID_STATUS_TRANSITION"


async def test_the_sixth_version_deletes_the_first(engine: AsyncEngine, scorer: Scorer) -> None:
    first = await scorer.validated("skill-1")
    await scorer.approve(approve(first))
    for number in range(2, 7):
        await scorer.approve(approve(await scorer.validated(f"skill-{number}")))
    versions = (await scorer.find_versions(ListVersions())).versions
    assert [v.version for v in versions if not v.is_available] == ["v1.1"]
    (cleanup,) = map(CleanupRequested.model_validate_json, await said(engine, "cleanup.requested"))
    assert cleanup.snapshots == (f"{first.validation_id}-1",)
    assert await code_of(scorer.rollback(rollback("v1.1"))) == "IMAGE_NOT_FOUND"


async def test_a_snapshot_that_is_not_deleted_is_asked_to_be_ever_more_seldom(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    skill = await scorer.validated("alpha")
    await scorer.reject(RejectSkill(skill_id=skill.skill_id, actor="ann", reason="No."))
    await scorer.delete(DeleteSkill(skill_id=skill.skill_id, actor="ann"))
    take = scorer.take
    for _ in range(25):
        newest = CleanupRequested.model_validate_json((await said(engine, "cleanup.requested"))[-1])
        for _ in ("heard", "heard again"):
            await take(gone_wrong(newest, "handed_over"))
    asked = [CleanupRequested.model_validate_json(b) for b in await said(engine, newest.SUBJECT)]
    assert [each.attempt for each in asked] == list(range(1, 21))
    assert {each.snapshots for each in asked} == {(f"{skill.validation_id}-1",)}
    assert len({each.message_id for each in asked}) == len(asked)
    async with engine.connect() as connection:
        delays = await connection.scalars(
            text(
                "select extract(epoch from due_at - created_at) from outbox"
                " where subject = 'cleanup.requested' order by id"
            )
        )
        minutes = [float(delay) / 60 for delay in delays]
    assert minutes == [0, 1, 2, 4, 8, 16, 32, *[60] * 13]


async def test_what_is_deleted_is_not_asked_to_be_again(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    skill = await scorer.validated("alpha")
    await scorer.reject(RejectSkill(skill_id=skill.skill_id, actor="ann", reason="No."))
    (body,) = await said(engine, "cleanup.requested")
    await scorer.take(well_done(CleanupRequested.model_validate_json(body)))
    assert await said(engine, "cleanup.requested") == [body]


async def test_a_version_is_asked_to_be_kept_until_it_is(
    engine: AsyncEngine, scorer: Scorer, clock: SettableClock
) -> None:
    await scorer.approve(approve(await scorer.validated("alpha")))
    await scorer.ask_to_keep_versions()
    assert len(await said(engine, "keep.requested")) == 1
    clock.ahead += ASK_AGAIN_AFTER * 2
    await scorer.ask_to_keep_versions()
    asked = [KeepRequested.model_validate_json(b) for b in await said(engine, "keep.requested")]
    assert [each.attempt for each in asked] == [1, 2]
    done = well_done(asked[1])
    assert isinstance(done, KeepFinished)
    await scorer.take_keep_result(done)
    clock.ahead += ASK_AGAIN_AFTER * 2
    await scorer.ask_to_keep_versions()
    assert len(await said(engine, "keep.requested")) == 2


async def asked_to_keep(engine: AsyncEngine, attempt: int) -> KeepRequested:
    asked = await said(engine, "keep.requested")
    return KeepRequested.model_validate_json(asked[-1]).model_copy(update={"attempt": attempt})


def unkept(asked: KeepRequested, category: FailureCategory, *, gone: bool) -> KeepFinished:
    failed = asked.failed(Failure.of(category, "there is no such snapshot"))
    assert isinstance(failed, KeepFinished)
    return failed.model_copy(update={"gone": gone})


async def test_a_snapshot_that_is_lost_is_said_to_be(engine: AsyncEngine, scorer: Scorer) -> None:
    await scorer.approve(approve(await scorer.validated("alpha")))
    for attempt in (1, 2, 3):
        (newest, _) = (await scorer.find_versions(ListVersions())).versions
        assert newest.is_available
        asked = await asked_to_keep(engine, attempt)
        await scorer.take_keep_result(unkept(asked, "sandbox", gone=True))
    (newest, _) = (await scorer.find_versions(ListVersions())).versions
    assert (newest.is_current, newest.is_available) == (True, False)
    audit = await scorer.read_audit(ListAudit(size=1))
    assert audit.entries[0].action == "snapshot_lost"
    assert "no such snapshot" in audit.entries[0].details["reason"]


@pytest.mark.parametrize("category", ["sandbox", "handed_over", "worker_died", "bus"])
async def test_an_outage_loses_no_snapshot_however_long_it_is(
    *, engine: AsyncEngine, scorer: Scorer, clock: SettableClock, category: FailureCategory
) -> None:
    await scorer.approve(approve(await scorer.validated("alpha")))
    for attempt in range(1, 12):
        asked = await asked_to_keep(engine, attempt)
        await scorer.take_keep_result(unkept(asked, category, gone=False))
        clock.ahead += timedelta(hours=1)
        await scorer.ask_to_keep_versions()
        assert len(await said(engine, "keep.requested")) == attempt + 1
    (newest, _) = (await scorer.find_versions(ListVersions())).versions
    assert newest.is_available


async def test_what_is_not_kept_is_asked_for_ever_more_seldom(
    engine: AsyncEngine, scorer: Scorer, clock: SettableClock
) -> None:
    await scorer.approve(approve(await scorer.validated("alpha")))
    minutes = []
    for minute in range(30):
        before = len(await said(engine, "keep.requested"))
        clock.ahead += timedelta(seconds=61)
        await scorer.ask_to_keep_versions()
        if len(await said(engine, "keep.requested")) > before:
            minutes.append(minute)
    assert minutes == [0, 2, 6, 14, 22]


async def test_a_snapshot_that_turns_up_again_is_there_again_unless_it_was_to_go(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    await scorer.approve(approve(await scorer.validated("skill-1")))
    asked = await asked_to_keep(engine, 3)
    late = well_done(asked)
    assert isinstance(late, KeepFinished)
    await scorer.take_keep_result(unkept(asked, "sandbox", gone=True))
    await scorer.take_keep_result(late)
    (newest, _) = (await scorer.find_versions(ListVersions())).versions
    assert newest.is_available

    for number in range(2, 7):
        await scorer.approve(approve(await scorer.validated(f"skill-{number}")))
    await scorer.take_keep_result(late)
    versions = (await scorer.find_versions(ListVersions())).versions
    assert [each.version for each in versions if not each.is_available] == ["v1.1"]


async def test_one_that_was_dropped_before_it_was_kept_stays_dropped(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    await scorer.approve(approve(await scorer.validated("skill-1")))
    late = well_done(await asked_to_keep(engine, 1))
    assert isinstance(late, KeepFinished)
    for number in range(2, 7):
        await scorer.approve(approve(await scorer.validated(f"skill-{number}")))
    await scorer.take_keep_result(late)
    versions = (await scorer.find_versions(ListVersions())).versions
    assert [each.version for each in versions if not each.is_available] == ["v1.1"]


async def test_work_under_way_is_found_again_after_the_migration(database_url: str) -> None:
    engine = open_engine(database_url)
    old = {
        **a_validation().model_dump(mode="json", exclude={"pieces", "environment", "regressions"}),
        "step": "planning",
        "attempt": 2,
        "lane": "solo",
        "failures": 1,
    }

    def through_both(connection: Connection) -> tuple[object, object]:
        config = alembic_config(connection)
        command.upgrade(config, "0001")
        connection.execute(
            text("insert into skills values (:skill, 'csv-analyzer', 'validating', now());"),
            {"skill": old["skill_id"]},
        )
        connection.execute(
            text(
                "insert into revisions values (:skill, 1, :skill, 'ann', '{}', '{}', '[]', now())"
            ),
            {"skill": old["skill_id"]},
        )
        connection.execute(
            text(
                "insert into validations (id, skill_id, revision, kind, step, stage, queued_at,"
                " detail, tasks_done, tasks_total, document) values (:id, :skill, 1, 'initial',"
                " 'planning', 'layer1', now(), '', 0, 0, cast(:document as jsonb))"
            ),
            {
                "id": old["validation_id"],
                "skill": old["skill_id"],
                "document": json.dumps(old),
            },
        )
        command.upgrade(config, "head")
        up = connection.scalar(text("select document from validations"))
        command.downgrade(config, "0001")
        return up, connection.scalar(text("select document from validations"))

    async with engine.begin() as connection:
        up, down = await connection.run_sync(through_both)
    await engine.dispose()
    (work,) = open_work(Validation.model_validate(up))
    assert (work.attempt, work.lane) == (2, "solo")
    assert isinstance(down, dict)
    assert {key: down[key] for key in ("attempt", "lane", "failures")} == {
        "attempt": 2,
        "lane": "solo",
        "failures": 1,
    }


async def test_the_history_of_a_skill_tells_every_validation_with_its_scores(
    scorer: Scorer,
) -> None:
    skill = await scorer.validated("alpha")
    again = await scorer.revalidate(RevalidateSkill(skill_id=skill.skill_id, actor="ann"))
    await scorer.start_queued()
    await scorer.run_to_the_end(again.validation_id, alpha=3)
    history = await scorer.find_validations(ListValidations(skill_id=skill.skill_id))
    assert [(v.validation_id, v.kind, v.verdict) for v in history.validations] == [
        (again.validation_id, "revalidation", "passed"),
        (skill.validation_id, "initial", "passed"),
    ]
    overall = [v.scores.overall for v in history.validations if v.scores]
    assert overall == [75.0, 100.0]
    assert (
        await code_of(scorer.find_validations(ListValidations(skill_id=uuid4())))
        == "SKILL_NOT_FOUND"
    )


async def test_every_stored_score_can_be_computed_again(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    skill = await scorer.validated("alpha")
    cancelled = await scorer.revalidate(RevalidateSkill(skill_id=skill.skill_id, actor="ann"))
    await scorer.start_queued()
    await scorer.cancel(CancelValidation(skill_id=skill.skill_id, actor="ann"))
    assert await recompute(engine) == (2, [])
    async with engine.begin() as connection:
        await connection.execute(
            text(
                "update validations set document ="
                " jsonb_set(document, '{scores,overall}', '12.5') where id = :id"
            ),
            {"id": skill.validation_id},
        )
    compared, (line,) = await recompute(engine)
    assert compared == 2
    assert str(skill.validation_id) in line
    assert "12.5" in line
    assert "100.0" in line
    assert str(cancelled.validation_id) not in line


@pytest.mark.parametrize("revision", [1, 2])
async def test_a_revision_that_was_not_validated_is_validated_when_asked_for(
    scorer: Scorer, revision: int
) -> None:
    register = scorer.register
    if revision == 2:
        before = await scorer.validated("alpha")
        await scorer.reject(RejectSkill(skill_id=before.skill_id, actor="ann", reason="No."))
    skill = await register(an_upload("alpha", sha256="b" * 64, start_validation=False))
    assert await code_of(scorer.approve(approve(skill))) == "VALIDATION_NOT_COMPLETED"
    cancel = CancelValidation(skill_id=skill.skill_id, actor="ann")
    assert await code_of(scorer.cancel(cancel)) == "INVALID_STATUS_TRANSITION"
    reply = await scorer.revalidate(RevalidateSkill(skill_id=skill.skill_id, actor="ann"))
    async with scorer.records.transaction() as transaction:
        validation = await transaction.lock_validation(reply.validation_id)
    assert validation is not None
    assert (validation.kind, validation.revision) == ("initial", revision)
    assert validation.bundle.sha256 == "b" * 64
    await scorer.start_queued()
    await scorer.run_to_the_end(reply.validation_id)
    assert (await scorer.approve(approve(skill))).status == "approved"


async def test_a_revision_that_was_not_validated_may_be_rejected(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    register = scorer.register
    skill = await register(an_upload("alpha", start_validation=False))
    await scorer.reject(RejectSkill(skill_id=skill.skill_id, actor="ann", reason="Not now."))
    assert await status_of(scorer, skill.skill_id) == "rejected"
    (told,) = map(SkillRejected.model_validate_json, await said(engine, "skill.rejected"))
    assert told.revision == 1
    await scorer.delete(DeleteSkill(skill_id=skill.skill_id, actor="ann"))
    again = await register(an_upload("alpha", start_validation=False))
    assert (again.revision, again.skill_id != skill.skill_id) == (1, True)
