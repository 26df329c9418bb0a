"""Review on a real database: rejected, deleted, validated again and cancelled, told once."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID, uuid4

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from assay_contracts.review import (
    CancelValidation,
    DeleteSkill,
    ListAudit,
    RejectSkill,
    RevalidateSkill,
    SkillDeleted,
    SkillRejected,
)
from assay_contracts.rpc import (
    GetStatus,
    ProblemError,
    SkillStatusView,
)
from assay_contracts.validations import CleanupRequested
from assay_scorer.adapters.records import PostgresRecords
from assay_testkit.scorer import an_upload, approval_of
from assay_testkit.scorer_on_database import Scorer, refusal_code, said


async def test_a_candidate_that_will_not_be_approved_is_deleted(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    rejected, revalidated = await scorer.validated("alpha"), await scorer.validated("beta")
    answer = await scorer.ask(
        RejectSkill(skill_id=rejected.skill_id, actor="ann", reason="Too narrow.")
    )
    assert (answer.status, answer.reject_reason) == ("rejected", "Too narrow.")
    (fact,) = map(SkillRejected.model_validate_json, await said(engine, "skill.rejected"))
    assert (fact.skill_name, fact.reason) == ("alpha", "Too narrow.")
    await scorer.ask(RevalidateSkill(skill_id=revalidated.skill_id, actor="ann"))
    cleanups = map(CleanupRequested.model_validate_json, await said(engine, "cleanup.requested"))
    assert [cleanup.snapshots for cleanup in cleanups] == [
        (f"{rejected.validation_id}-1",),
        (f"{revalidated.validation_id}-1",),
    ]


async def test_a_skill_is_validated_once_at_a_time(scorer: Scorer) -> None:
    skill = await scorer.validated("alpha")
    question = RevalidateSkill(skill_id=skill.skill_id, actor="ann")
    answers = await asyncio.gather(
        *(scorer.ask(question) for _ in range(5)), return_exceptions=True
    )
    refused = [answer for answer in answers if isinstance(answer, ProblemError)]
    assert len(refused) == 4
    assert {error.problem.code for error in refused} == {"VALIDATION_IN_PROGRESS"}


async def test_a_deleted_skill_is_gone_and_its_name_is_free(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    skill = await scorer.validated("alpha")
    delete = DeleteSkill(skill_id=skill.skill_id, actor="bob")
    assert await refusal_code(scorer.ask(delete)) == "INVALID_STATUS_TRANSITION"
    await scorer.ask(approval_of(skill))
    await scorer.ask(delete)
    assert await refusal_code(scorer.ask(delete)) == "SKILL_NOT_FOUND"
    (fact,) = map(SkillDeleted.model_validate_json, await said(engine, "skill.deleted"))
    assert (fact.skill_id, fact.actor) == (skill.skill_id, "bob")
    again = await scorer.validated("alpha")
    assert again.skill_id != skill.skill_id
    audit = await scorer.ask(ListAudit(skill_id=skill.skill_id))
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
    running = await scorer.ask(an_upload("alpha"))
    await scorer.start_queued()
    queued = await scorer.ask(an_upload("beta"))
    for skill in (running, queued):
        question = CancelValidation(skill_id=skill.skill_id, actor="ann")
        assert (await scorer.ask(question)).validation_id == skill.validation_id
        status = await scorer.ask(GetStatus(skill_id=skill.skill_id))
        assert (status.validation_stage, status.status) == ("inconclusive", "pending")
        assert str(status.reason).startswith("Cancelled by ann")
        assert await refusal_code(scorer.ask(question)) == "INVALID_STATUS_TRANSITION"
    assert len(await said(engine, "validation.completed")) == 2
    unknown = CancelValidation(skill_id=uuid4(), actor="ann")
    assert await refusal_code(scorer.ask(unknown)) == "SKILL_NOT_FOUND"


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
            await scorer.ask(CancelValidation(skill_id=skill.skill_id, actor="bob"))
        await scorer.ask(RevalidateSkill(skill_id=skill.skill_id, actor="bob"))

    busy = Scorer(engine, records=OftenRevalidated(engine, again, times))
    question = CancelValidation(skill_id=skill.skill_id, actor="ann")
    cancel = busy.ask(question)
    if not told:
        assert await refusal_code(cancel) == "INVALID_STATUS_TRANSITION"
        return
    reply = await cancel
    assert reply.validation_id != skill.validation_id
    status = await scorer.records.status(skill.skill_id)
    assert status is not None
    assert (status.validation_id, status.step) == (reply.validation_id, "done")
    audit = await scorer.ask(ListAudit(size=1))
    assert audit.entries[0].details == {"validation_id": str(reply.validation_id)}


@pytest.mark.parametrize("revision", [1, 2])
async def test_a_revision_that_was_not_validated_is_validated_when_asked_for(
    scorer: Scorer, revision: int
) -> None:
    if revision == 2:
        before = await scorer.validated("alpha")
        await scorer.ask(RejectSkill(skill_id=before.skill_id, actor="ann", reason="No."))
    skill = await scorer.ask(an_upload("alpha", sha256="b" * 64, start_validation=False))
    assert await refusal_code(scorer.ask(approval_of(skill))) == "VALIDATION_NOT_COMPLETED"
    cancel = CancelValidation(skill_id=skill.skill_id, actor="ann")
    assert await refusal_code(scorer.ask(cancel)) == "INVALID_STATUS_TRANSITION"
    reply = await scorer.ask(RevalidateSkill(skill_id=skill.skill_id, actor="ann"))
    async with scorer.records.transaction() as transaction:
        validation = await transaction.lock_validation(reply.validation_id)
    assert validation is not None
    assert (validation.kind, validation.revision) == ("initial", revision)
    assert validation.bundle.sha256 == "b" * 64
    await scorer.start_queued()
    await scorer.run_to_the_end(reply.validation_id)
    assert (await scorer.ask(approval_of(skill))).status == "approved"


async def test_a_revision_that_was_not_validated_may_be_rejected(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    skill = await scorer.ask(an_upload("alpha", start_validation=False))
    await scorer.ask(RejectSkill(skill_id=skill.skill_id, actor="ann", reason="Not now."))
    assert await scorer.status_of(skill.skill_id) == "rejected"
    (told,) = map(SkillRejected.model_validate_json, await said(engine, "skill.rejected"))
    assert told.revision == 1
    await scorer.ask(DeleteSkill(skill_id=skill.skill_id, actor="ann"))
    again = await scorer.ask(an_upload("alpha", start_validation=False))
    assert (again.revision, again.skill_id != skill.skill_id) == (1, True)
