"""Use cases of review: each is one transaction that ends with an entry in the audit log."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID, uuid4

from assay_contracts.base import Message
from assay_contracts.review import (
    ApproveReply,
    ApproveSkill,
    AuditPage,
    CancelValidation,
    DeleteReply,
    DeleteSkill,
    ListAudit,
    RejectReply,
    RejectSkill,
    RevalidateSkill,
    SkillApproved,
    SkillDeleted,
    SkillRejected,
    ValidationReply,
)
from assay_contracts.rpc import Problem, ProblemDetails, ProblemError
from assay_contracts.runtime import RuntimePromoted
from assay_scorer.domain.decisions import Decision, Outgoing
from assay_scorer.domain.environment import version_label
from assay_scorer.domain.inputs import Cancelled
from assay_scorer.domain.review import Action, Standing, refusal, stale_candidate
from assay_scorer.domain.runtime import Version, current, next_version, superseded
from assay_scorer.domain.validation import Validation
from assay_scorer.domain.work import clean_up, clean_up_version, keep
from assay_scorer.ports import Records, Transaction
from assay_scorer.service import Conduct, not_found

CANCEL_TRIES: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """What admins do with skills. Every method raises ProblemError when it may not be done."""

    conduct: Conduct
    start_soon: Callable[[], None]
    clear_soon: Callable[[], None]
    """There is something that nobody refers to any more."""
    candidate_ttl: timedelta
    """How long the sandboxes keep a snapshot that nobody asked them to keep."""

    async def approve(self, question: ApproveSkill) -> ApproveReply:
        """Two approvals at once come one after the other: the second has an old candidate."""
        now = self.conduct.clock()
        async with self.conduct.records.transaction() as transaction:
            versions = await transaction.versions()
            skill = await _allowed(transaction, "approve", question.skill_id)
            before = current(versions)
            _raise(stale_candidate(skill, before.number, now, self.candidate_ttl))
            made = next_version(versions, skill.validation, question.actor, now)
            await transaction.save_version(before.model_copy(update={"current": False}))
            await transaction.save_version(made)
            others = [each.model_copy(update={"current": False}) for each in versions]
            dropped = await _drop_superseded(transaction, [made, *others])
            await transaction.set_status(skill.skill_id, "approved")
            version = version_label(made.number)
            await transaction.note(
                "approved",
                question.actor,
                now,
                skill=(skill.skill_id, skill.name),
                details={
                    "runtime_version": version,
                    "validation_id": str(skill.validation.validation_id),
                },
            )
            facts = _approval_facts(skill, before, made)
            await transaction.say([*facts, *dropped], now)
        self.conduct.announcer.wake()
        return ApproveReply(
            skill_id=skill.skill_id,
            name=skill.name,
            status="approved",
            runtime_version=version,
            approved_at=now,
        )

    async def reject(self, question: RejectSkill) -> RejectReply:
        now = self.conduct.clock()
        async with self.conduct.records.transaction() as transaction:
            skill = await _allowed(transaction, "reject", question.skill_id)
            await transaction.set_status(skill.skill_id, "rejected")
            await transaction.note(
                "rejected",
                question.actor,
                now,
                skill=(skill.skill_id, skill.name),
                details={"reason": question.reason},
            )
            rejected = SkillRejected(
                skill_id=skill.skill_id,
                skill_name=skill.name,
                actor=question.actor,
                revision=skill.validation.revision,
                reason=question.reason,
            )
            await transaction.say([Outgoing(rejected), *_unused_candidate(skill)], now)
        self.conduct.announcer.wake()
        return RejectReply(
            skill_id=skill.skill_id,
            name=skill.name,
            status="rejected",
            reject_reason=question.reason,
            rejected_at=now,
        )

    async def delete(self, question: DeleteSkill) -> DeleteReply:
        now = self.conduct.clock()
        async with self.conduct.records.transaction() as transaction:
            skill = await _allowed(transaction, "delete", question.skill_id)
            news = await self._end_full_test(transaction, skill.skill_id, question.actor)
            await transaction.delete_skill(skill.skill_id)
            await transaction.note(
                "deleted",
                question.actor,
                now,
                skill=(skill.skill_id, skill.name),
                details={"status": skill.status, "revision": str(skill.validation.revision)},
            )
            deleted = SkillDeleted(
                skill_id=skill.skill_id, skill_name=skill.name, actor=question.actor
            )
            await transaction.say([Outgoing(deleted)], now)
        await self.conduct.tell(news)
        self.conduct.announcer.wake()
        self.clear_soon()
        return DeleteReply(skill_id=skill.skill_id, name=skill.name, deleted_at=now)

    async def revalidate(self, question: RevalidateSkill) -> ValidationReply:
        now = self.conduct.clock()
        async with self.conduct.records.transaction() as transaction:
            skill = await _allowed(transaction, "revalidate", question.skill_id)
            again = _another(skill).model_copy(update={"queued_at": now})
            await transaction.store(Decision(again, tuple(_unused_candidate(skill))), now)
            await transaction.note(
                "revalidated",
                question.actor,
                now,
                skill=(skill.skill_id, skill.name),
                details={"validation_id": str(again.validation_id)},
            )
        self.conduct.announcer.wake()
        self.start_soon()
        return ValidationReply(
            skill_id=skill.skill_id, name=skill.name, validation_id=again.validation_id
        )

    async def cancel(self, question: CancelValidation) -> ValidationReply:
        for _ in range(CANCEL_TRIES):
            cancelled = await self._cancel_newest(question)
            if cancelled is not None:
                return cancelled
        raise ProblemError(
            Problem(
                code="INVALID_STATUS_TRANSITION",
                message="Each time it was to be cancelled, it had ended and another validation had "
                "begun. Cancel that one.",
                details=ProblemDetails(skill_id=question.skill_id, allowed=("cancel",)),
            )
        )

    async def _cancel_newest(self, question: CancelValidation) -> ValidationReply | None:
        """None if by then another one has begun, which may be cancelled."""
        now = self.conduct.clock()
        status = await self.conduct.records.status(question.skill_id)
        if status is None:
            raise not_found(question.skill_id)
        validation_id = status.validation_id
        news: tuple[Message, ...] = ()
        async with self.conduct.records.transaction() as transaction:
            if validation_id is not None:
                # The validation is held before its skill, as everywhere where it changes.
                why = Cancelled(why=f"Cancelled by {question.actor}")
                news = await self.conduct.within(transaction, validation_id, why)
            if validation_id is None or not news:
                await _allowed(transaction, "cancel", question.skill_id)
                return None
            await transaction.note(
                "cancelled",
                question.actor,
                now,
                skill=(status.skill_id, status.name),
                details={"validation_id": str(validation_id)},
            )
        await self.conduct.tell(news)
        return ValidationReply(
            skill_id=status.skill_id, name=status.name, validation_id=validation_id
        )

    async def _end_full_test(
        self, transaction: Transaction, skill_id: UUID, actor: str
    ) -> tuple[Message, ...]:
        """End the part of a skill in a full test before it is gone."""
        under_test = await transaction.under_test(skill_id)
        if under_test is None:
            return ()
        why = Cancelled(why=f"The skill was deleted by {actor}")
        return await self.conduct.within(transaction, under_test, why)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAudit:
    records: Records

    async def __call__(self, query: ListAudit) -> AuditPage:
        return await self.records.audit(query)


async def _allowed(transaction: Transaction, action: Action, skill_id: UUID) -> Standing:
    skill = await transaction.standing(skill_id)
    if skill is None:
        raise not_found(skill_id)
    _raise(refusal(action, skill))
    return skill


def _raise(problem: Problem | None) -> None:
    if problem is not None:
        raise ProblemError(problem)


def _unused_candidate(skill: Standing) -> list[Outgoing]:
    """Ask for the deletion of a candidate that waited for an approval it will not get."""
    candidate = skill.validation.candidate
    if skill.status != "pending" or skill.validation.verdict != "passed" or candidate is None:
        return []
    return [Outgoing(clean_up(skill.validation, candidate))]


def _approval_facts(skill: Standing, before: Version, made: Version) -> list[Outgoing]:
    validation = skill.validation
    assert made.snapshot is not None
    about = {"skill_id": skill.skill_id, "skill_name": skill.name, "actor": made.created_by}
    version = version_label(made.number)
    approved = SkillApproved.model_validate(
        {
            **about,
            "revision": validation.revision,
            "bundle_sha256": validation.bundle.sha256,
            "validation_id": validation.validation_id,
            "runtime_version": version,
        }
    )
    promoted = RuntimePromoted.model_validate(
        {
            **about,
            "version": version,
            "built_on": version_label(before.number),
            "snapshot": made.snapshot,
        }
    )
    return [Outgoing(approved), Outgoing(promoted), Outgoing(keep(made))]


async def _drop_superseded(transaction: Transaction, versions: list[Version]) -> list[Outgoing]:
    dropped = superseded(versions, await transaction.version_under_test())
    for version in dropped:
        await transaction.save_version(version.model_copy(update={"available": False}))
    return [Outgoing(clean_up_version(version)) for version in dropped]


def _another(skill: Standing) -> Validation:
    """A new validation of the same revision, of which nothing is known yet."""
    validation = skill.validation
    return Validation(
        validation_id=uuid4(),
        skill_id=validation.skill_id,
        skill_name=validation.skill_name,
        revision=validation.revision,
        kind="revalidation" if skill.validated else "initial",
        bundle=validation.bundle,
        manifest=validation.manifest,
        findings=validation.findings,
        queued_at=validation.queued_at,
    )
