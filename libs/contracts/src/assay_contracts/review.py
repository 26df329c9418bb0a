"""What an admin does with a validated skill: the questions, their answers, and the public facts."""

from typing import ClassVar, Final, Literal
from uuid import UUID

from pydantic import AwareDatetime, Field

from assay_contracts.base import Message, Model
from assay_contracts.rpc import Repeatable, Rpc
from assay_contracts.skills import Sha256, SkillStatus

MAX_REASON: Final = 2000

AuditAction = Literal[
    "uploaded",
    "approved",
    "rejected",
    "deleted",
    "revalidated",
    "cancelled",
    "rolled_back",
    "snapshot_lost",
    "full_test_started",
    "full_test_cancelled",
]


class SkillAction(Repeatable):
    """Something an admin wants done with one skill."""

    skill_id: UUID
    actor: str = Field(min_length=1)
    """Who wants it; kept in the audit log."""


class ApproveReply(Model):
    skill_id: UUID
    name: str
    status: SkillStatus
    runtime_version: str
    """What the skill's environment was promoted to: `v1.<n>`."""
    approved_at: AwareDatetime


class ApproveSkill(SkillAction, Rpc[ApproveReply]):
    """Let agents use a skill that passed, and make its candidate the current runtime version.

    Refused with `VALIDATION_NOT_COMPLETED`, `REGRESSION_FAILED` or `INVALID_STATUS_TRANSITION`;
    the last also when the candidate is too old or was built on another version than the current.
    """

    SUBJECT: ClassVar[str] = "records.approve"
    REPLY = ApproveReply


class RejectReply(Model):
    skill_id: UUID
    name: str
    status: SkillStatus
    reject_reason: str
    rejected_at: AwareDatetime


class RejectSkill(SkillAction, Rpc[RejectReply]):
    """Turn a pending skill down; its candidate is deleted."""

    SUBJECT: ClassVar[str] = "records.reject"
    REPLY = RejectReply

    reason: str = Field(min_length=1, max_length=MAX_REASON)


class DeleteReply(Model):
    skill_id: UUID
    name: str
    deleted_at: AwareDatetime


class DeleteSkill(SkillAction, Rpc[DeleteReply]):
    """Remove a skill with its revisions and validations; its name is free again."""

    SUBJECT: ClassVar[str] = "records.delete"
    REPLY = DeleteReply


class ValidationReply(Model):
    """The validation that was started or ended."""

    skill_id: UUID
    name: str
    validation_id: UUID


class RevalidateSkill(SkillAction, Rpc[ValidationReply]):
    """Queue another validation of the newest revision.

    Refused with `VALIDATION_IN_PROGRESS` while one is under way.
    """

    SUBJECT: ClassVar[str] = "records.revalidate"
    REPLY = ValidationReply


class CancelValidation(SkillAction, Rpc[ValidationReply]):
    """End the skill's open validation as `inconclusive`."""

    SUBJECT: ClassVar[str] = "records.cancel"
    REPLY = ValidationReply


class AuditEntry(Model):
    """Who did what, when. Kept for ever, also when the skill is gone."""

    number: int
    at: AwareDatetime
    actor: str
    action: AuditAction
    skill_id: UUID | None
    skill_name: str | None
    details: dict[str, str]


class AuditPage(Model):
    entries: tuple[AuditEntry, ...]
    total: int
    page: int
    size: int


class ListAudit(Rpc[AuditPage]):
    """The audit log, newest first."""

    SUBJECT: ClassVar[str] = "records.list-audit"
    REPLY = AuditPage

    skill_id: UUID | None = None
    page: int = Field(default=1, ge=1)
    size: int = Field(default=20, ge=1, le=100)


class Reviewed(Message):
    """A public fact about a skill that an admin decided on."""

    skill_id: UUID
    skill_name: str
    actor: str


class SkillApproved(Reviewed):
    """Agents may use this revision from now on. Public."""

    SUBJECT: ClassVar[str] = "skill.approved"

    revision: int = Field(ge=1)
    bundle_sha256: Sha256
    validation_id: UUID
    runtime_version: str

    def dedup_key(self) -> str:
        return f"{self.SUBJECT}:{self.validation_id}"


class SkillRejected(Reviewed):
    """An admin turned this revision down. Public.

    A skill that its validation rejects is told of by `validation.completed` alone.
    """

    SUBJECT: ClassVar[str] = "skill.rejected"

    revision: int = Field(ge=1)
    reason: str


class SkillDeleted(Reviewed):
    """The skill is gone. Public."""

    SUBJECT: ClassVar[str] = "skill.deleted"

    def dedup_key(self) -> str:
        return f"{self.SUBJECT}:{self.skill_id}"


QUESTIONS: Final[tuple[type[Message], ...]] = (
    ApproveSkill,
    RejectSkill,
    DeleteSkill,
    RevalidateSkill,
    CancelValidation,
    ListAudit,
)
"""What the gateway asks of the records here."""
