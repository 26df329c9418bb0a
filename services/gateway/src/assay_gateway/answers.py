"""What the REST API answers where it differs from what the services say to each other."""

from collections.abc import Iterable
from typing import Literal, Self
from uuid import UUID

from pydantic import AwareDatetime

from assay_contracts.base import Model
from assay_contracts.review import ApproveReply, DeleteReply, ValidationReply
from assay_contracts.rpc import SkillDetail, SubmitReply
from assay_contracts.runtime import RollbackReply
from assay_contracts.skills import Finding, Severity, SkillStatus


def _texts(findings: Iterable[Finding], severity: Severity) -> tuple[str, ...]:
    return tuple(finding.message for finding in findings if finding.severity == severity)


class UploadAnswer(Model):
    """The upload passed the format check and its validation is queued."""

    skill_id: UUID
    name: str
    status: SkillStatus
    format_valid: bool
    format_errors: tuple[str, ...]
    format_warnings: tuple[str, ...]
    findings: tuple[Finding, ...]
    """Warnings and notes, each with its code, its place and what to do."""
    message: str
    validation_id: UUID
    revision: int
    same_as_revision: int | None
    """The earlier revision with this very content."""

    @classmethod
    def of(cls, reply: SubmitReply) -> Self:
        return cls(
            skill_id=reply.skill_id,
            name=reply.name,
            status=reply.status,
            format_valid=True,
            format_errors=_texts(reply.findings, "error"),
            format_warnings=_texts(reply.findings, "warning"),
            findings=reply.findings,
            message=_message(reply),
            validation_id=reply.validation_id,
            revision=reply.revision,
            same_as_revision=reply.same_as_revision,
        )


def _message(reply: SubmitReply) -> str:
    same = reply.same_as_revision
    as_what = "" if reply.revision == 1 else f" as revision {reply.revision}"
    unchanged = "" if same is None else f", with the content of revision {same}"
    return f"Skill uploaded{as_what}{unchanged}, validation started"


class SkillDetailAnswer(SkillDetail):
    """One skill, its newest revision, and how its newest validation went."""

    format_valid: bool
    format_errors: tuple[str, ...]
    format_warnings: tuple[str, ...]

    @classmethod
    def of(cls, detail: SkillDetail) -> Self:
        errors = _texts(detail.findings, "error")
        return cls(
            **dict(detail),
            format_valid=not errors,
            format_errors=errors,
            format_warnings=_texts(detail.findings, "warning"),
        )


class ApproveAnswer(Model):
    """The skill is approved."""

    skill_id: UUID
    name: str
    status: SkillStatus
    runtime_image_version: str
    approved_at: AwareDatetime
    message: str

    @classmethod
    def of(cls, reply: ApproveReply) -> Self:
        return cls(
            skill_id=reply.skill_id,
            name=reply.name,
            status=reply.status,
            runtime_image_version=reply.runtime_version,
            approved_at=reply.approved_at,
            message="Skill approved and available to agents",
        )


class DeleteAnswer(Model):
    """The skill is gone."""

    skill_id: UUID
    name: str
    status: Literal["deleted"] = "deleted"
    message: str = "Skill deleted successfully"

    @classmethod
    def of(cls, reply: DeleteReply) -> Self:
        return cls(skill_id=reply.skill_id, name=reply.name)


class ValidateAnswer(Model):
    """A validation waits for its turn."""

    skill_id: UUID
    name: str
    validation_id: UUID
    status: Literal["pending"] = "pending"
    validation_stage: Literal["queued"] = "queued"
    message: str = "Validation started"

    @classmethod
    def of(cls, reply: ValidationReply) -> Self:
        return cls(skill_id=reply.skill_id, name=reply.name, validation_id=reply.validation_id)


class CancelAnswer(Model):
    """The validation has ended without a verdict on the skill, unless it had one already."""

    skill_id: UUID
    name: str
    validation_id: UUID
    message: str = "Validation cancelled"

    @classmethod
    def of(cls, reply: ValidationReply) -> Self:
        return cls(skill_id=reply.skill_id, name=reply.name, validation_id=reply.validation_id)


class RollbackAnswer(Model):
    """Another version is current."""

    previous_version: str
    current_version: str
    target_version: str
    affected_skills: tuple[str, ...]
    """Hidden from agents until they are validated again."""
    restored_skills: tuple[str, ...]
    message: str

    @classmethod
    def of(cls, reply: RollbackReply) -> Self:
        hidden, restored = len(reply.hidden_skills), len(reply.restored_skills)
        return cls(
            previous_version=reply.previous_version,
            current_version=reply.current_version,
            target_version=reply.current_version,
            affected_skills=reply.hidden_skills,
            restored_skills=reply.restored_skills,
            message=f"{reply.current_version} is current now. "
            f"{hidden} skills marked as rollback_pending, {restored} approved again",
        )
