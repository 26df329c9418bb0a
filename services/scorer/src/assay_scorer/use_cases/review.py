"""What admins do with skills: each is one transaction that ends with an entry in the audit log.

Each raises ProblemError when it may not be done.
"""

from dataclasses import dataclass
from typing import Final, Protocol
from uuid import UUID

from assay_contracts.base import Message
from assay_contracts.review import (
    ApproveReply,
    ApproveSkill,
    CancelValidation,
    DeleteReply,
    DeleteSkill,
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
from assay_contracts.validations import ValidationKind
from assay_scorer.domain.decisions import Decision, Outgoing
from assay_scorer.domain.environment import version_label
from assay_scorer.domain.inputs import Cancelled
from assay_scorer.domain.review import Action, SkillUnderReview, refusal, stale_candidate
from assay_scorer.domain.revisions import new_validation
from assay_scorer.domain.runtime_versions import Version, current, next_version, superseded
from assay_scorer.domain.work import clean_up, clean_up_version, keep
from assay_scorer.ports.audit import AuditLog
from assay_scorer.ports.full_tests import FullTestUnderWay
from assay_scorer.ports.outbox import Outbox
from assay_scorer.ports.runtime_versions import RuntimeVersionChanges
from assay_scorer.ports.skills import SkillChanges, SkillQueries
from assay_scorer.ports.timing import Clock, Wake
from assay_scorer.ports.transactions import Transactions
from assay_scorer.ports.validations import ValidationChanges
from assay_scorer.use_cases.announcing import Announce
from assay_scorer.use_cases.conducting import Advance, AdvanceTransaction
from assay_scorer.use_cases.problems import known, raise_if

CANCEL_TRIES: Final = 5


class ReviewTransaction(SkillChanges, AuditLog, Outbox, Protocol):
    pass


class ApprovalTransaction(ReviewTransaction, RuntimeVersionChanges, FullTestUnderWay, Protocol):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Approve:
    """Two approvals at once come one after the other: the second has an old candidate."""

    records: Transactions[ApprovalTransaction]
    announce: Announce
    clock: Clock

    async def __call__(self, question: ApproveSkill) -> ApproveReply:
        now = self.clock()
        async with self.records.transaction() as transaction:
            versions = await transaction.lock_versions()
            skill = await _lock_allowed(transaction, "approve", question.skill_id)
            before = current(versions)
            raise_if(stale_candidate(skill, before.number, now))
            assert skill.validation is not None
            made = next_version(versions, skill.validation, question.actor, now)
            await transaction.save_version(before.model_copy(update={"current": False}))
            await transaction.save_version(made)
            others = [each.model_copy(update={"current": False}) for each in versions]
            dropped = await _drop_superseded(transaction, [made, *others])
            await transaction.set_status(skill.skill_id, "approved")
            version = version_label(made.number)
            await transaction.log_action(
                "approved",
                question.actor,
                now,
                skill=(skill.skill_id, skill.name),
                details={"runtime_version": version, "validation_id": str(made.validation_id)},
            )
            outgoing = [*_approval_facts(skill, before, made), keep(made), *dropped]
            await transaction.add_to_outbox([Outgoing(each) for each in outgoing], now)
        await self.announce()
        return ApproveReply(
            skill_id=skill.skill_id,
            name=skill.name,
            status="approved",
            runtime_version=version,
            approved_at=now,
        )


def _approval_facts(skill: SkillUnderReview, before: Version, made: Version) -> tuple[Message, ...]:
    assert skill.validation is not None
    assert made.snapshot is not None
    version = version_label(made.number)
    approved = SkillApproved(
        skill_id=skill.skill_id,
        skill_name=skill.name,
        actor=made.created_by,
        revision=skill.revision.number,
        bundle_sha256=skill.revision.bundle.sha256,
        validation_id=skill.validation.validation_id,
        runtime_version=version,
    )
    promoted = RuntimePromoted(
        skill_id=skill.skill_id,
        skill_name=skill.name,
        actor=made.created_by,
        version=version,
        built_on=version_label(before.number),
        snapshot=made.snapshot,
    )
    return approved, promoted


async def _drop_superseded(
    transaction: ApprovalTransaction, versions: list[Version]
) -> list[Message]:
    dropped = superseded(versions, await transaction.version_under_test())
    for version in dropped:
        await transaction.save_version(version.model_copy(update={"available": False}))
    return [clean_up_version(version) for version in dropped]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reject:
    records: Transactions[ReviewTransaction]
    announce: Announce
    clock: Clock

    async def __call__(self, question: RejectSkill) -> RejectReply:
        now = self.clock()
        async with self.records.transaction() as transaction:
            skill = await _lock_allowed(transaction, "reject", question.skill_id)
            await transaction.set_status(skill.skill_id, "rejected")
            await transaction.log_action(
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
                revision=skill.revision.number,
                reason=question.reason,
            )
            await transaction.add_to_outbox([Outgoing(rejected), *_unused_candidate(skill)], now)
        await self.announce()
        return RejectReply(
            skill_id=skill.skill_id,
            name=skill.name,
            status="rejected",
            reject_reason=question.reason,
            rejected_at=now,
        )


class DeletionTransaction(ReviewTransaction, FullTestUnderWay, AdvanceTransaction, Protocol):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    records: Transactions[DeletionTransaction]
    advance: Advance
    announce: Announce
    clock: Clock
    wake_retention: Wake
    """There is something that nobody refers to any more."""

    async def __call__(self, question: DeleteSkill) -> DeleteReply:
        now = self.clock()
        progress: tuple[Message, ...] = ()
        async with self.records.transaction() as transaction:
            skill = await _lock_allowed(transaction, "delete", question.skill_id)
            # Its part in a full test ends before it is gone.
            under_test = await transaction.open_test(skill.skill_id)
            if under_test is not None:
                why = Cancelled(why=f"The skill was deleted by {question.actor}")
                progress = await self.advance(transaction, under_test, why)
            await transaction.delete_skill(skill.skill_id)
            await transaction.log_action(
                "deleted",
                question.actor,
                now,
                skill=(skill.skill_id, skill.name),
                details={"status": skill.status, "revision": str(skill.revision.number)},
            )
            deleted = SkillDeleted(
                skill_id=skill.skill_id, skill_name=skill.name, actor=question.actor
            )
            await transaction.add_to_outbox([Outgoing(deleted)], now)
        await self.announce(progress)
        self.wake_retention()
        return DeleteReply(skill_id=skill.skill_id, name=skill.name, deleted_at=now)


class RevalidationTransaction(SkillChanges, ValidationChanges, AuditLog, Protocol):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Revalidate:
    records: Transactions[RevalidationTransaction]
    announce: Announce
    clock: Clock
    wake_admission: Wake

    async def __call__(self, question: RevalidateSkill) -> ValidationReply:
        now = self.clock()
        async with self.records.transaction() as transaction:
            skill = await _lock_allowed(transaction, "revalidate", question.skill_id)
            kind: ValidationKind = "revalidation" if skill.validation else "initial"
            again = new_validation(skill.revision, kind, now)
            await transaction.save_decision(Decision(again, _unused_candidate(skill)), now)
            await transaction.log_action(
                "revalidated",
                question.actor,
                now,
                skill=(skill.skill_id, skill.name),
                details={"validation_id": str(again.validation_id)},
            )
        await self.announce()
        self.wake_admission()
        return ValidationReply(
            skill_id=skill.skill_id, name=skill.name, validation_id=again.validation_id
        )


class CancellationTransaction(SkillChanges, AdvanceTransaction, Protocol):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    skills: SkillQueries
    records: Transactions[CancellationTransaction]
    advance: Advance
    announce: Announce
    clock: Clock

    async def __call__(self, question: CancelValidation) -> ValidationReply:
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
        now = self.clock()
        status = known(await self.skills.status(question.skill_id), question.skill_id)
        validation_id = status.validation_id
        progress: tuple[Message, ...] = ()
        async with self.records.transaction() as transaction:
            if validation_id is not None:
                # The validation is locked before its skill, as everywhere where it changes.
                why = Cancelled(why=f"Cancelled by {question.actor}")
                progress = await self.advance(transaction, validation_id, why)
            if validation_id is None or not progress:
                await _lock_allowed(transaction, "cancel", question.skill_id)
                return None
            await transaction.log_action(
                "cancelled",
                question.actor,
                now,
                skill=(status.skill_id, status.name),
                details={"validation_id": str(validation_id)},
            )
        await self.announce(progress)
        return ValidationReply(
            skill_id=status.skill_id, name=status.name, validation_id=validation_id
        )


async def _lock_allowed(
    transaction: SkillChanges, action: Action, skill_id: UUID
) -> SkillUnderReview:
    skill = known(await transaction.lock_skill(skill_id), skill_id)
    raise_if(refusal(action, skill))
    return skill


def _unused_candidate(skill: SkillUnderReview) -> tuple[Outgoing, ...]:
    """Ask for the deletion of a candidate that waited for an approval it will not get."""
    unused = skill.unused_candidate
    return () if unused is None else (Outgoing(clean_up(*unused)),)
