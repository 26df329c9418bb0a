"""What the REST API answers where it differs from what the services say to each other.

The gateway makes these from the services' replies; the command reads them.
"""

from typing import Literal, Self
from uuid import UUID

from pydantic import AwareDatetime

from assay_contracts.base import Model
from assay_contracts.reports import Report
from assay_contracts.review import ApproveReply, DeleteReply, ValidationReply
from assay_contracts.rpc import SubmitReply
from assay_contracts.runs import RunKind
from assay_contracts.runtime import RollbackReply
from assay_contracts.skills import Finding, SkillStatus, messages_of
from assay_contracts.tasks import TaskId

ReportForm = Literal["json", "markdown", "html", "junit", "attestation"]
"""What a report can be asked for as."""


class UploadAnswer(Model):
    """The upload passed the format check, and its validation is queued unless it was to wait."""

    skill_id: UUID
    name: str
    status: SkillStatus
    format_valid: bool
    format_errors: tuple[str, ...]
    format_warnings: tuple[str, ...]
    findings: tuple[Finding, ...]
    """Warnings and notes, each with its code, its place and what to do."""
    message: str
    validation_id: UUID | None
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
            format_errors=messages_of(reply.findings, "error"),
            format_warnings=messages_of(reply.findings, "warning"),
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
    started = "not validated yet" if reply.validation_id is None else "validation started"
    return f"Skill uploaded{as_what}{unchanged}, {started}"


class TraceEntry(Model):
    """What there is to know of a trace before reading it."""

    run: RunKind
    task_id: TaskId
    commands: int
    seconds: float
    url: str
    """Where the whole of it is."""


class TracesAnswer(Model):
    """The traces of one validation, one for each task of each run."""

    skill_id: UUID
    validation_id: UUID
    traces: tuple[TraceEntry, ...]

    @classmethod
    def of(cls, report: Report) -> Self:
        where = f"/api/admin/skills/{report.skill_id}/traces"
        traces = (
            TraceEntry(
                run=run.kind,
                task_id=outcome.task_id,
                commands=outcome.commands,
                seconds=outcome.seconds,
                url=f"{where}/{run.kind}/{outcome.task_id}?validation_id={report.validation_id}",
            )
            for run in report.runs
            for outcome in run.outcomes
        )
        return cls(
            skill_id=report.skill_id, validation_id=report.validation_id, traces=tuple(traces)
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


class RollbackPreviewAnswer(Model):
    """What a rollback would do."""

    current_version: str
    target_version: str
    affected_skills: tuple[str, ...]
    """Would be hidden from agents until they are validated again."""
    restored_skills: tuple[str, ...]
    """Would be approved again."""

    @classmethod
    def of(cls, reply: RollbackReply) -> Self:
        return cls(
            current_version=reply.previous_version,
            target_version=reply.current_version,
            affected_skills=reply.hidden_skills,
            restored_skills=reply.restored_skills,
        )


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
            f"{hidden} {'skill' if hidden == 1 else 'skills'} marked as rollback_pending,"
            f" {restored} approved again",
        )
