"""Who may upload a name again: only a rejected skill gets a next revision."""

from typing import Final
from uuid import UUID, uuid4

from assay_contracts.base import Model
from assay_contracts.rpc import Problem, ProblemDetails, RegisterSkill
from assay_contracts.skills import SkillStatus
from assay_scorer.domain.revisions import Revision

OTHER_UPLOAD: Final = Problem(
    code="INVALID_REQUEST",
    message="This Idempotency-Key was used for another upload. Take a new one for each.",
)


class KnownSkill(Model):
    """The skill that has the name of an upload already."""

    skill_id: UUID
    name: str
    status: SkillStatus
    newest_revision: int
    same_as_revision: int | None
    """Its newest revision that is the uploaded content, byte for byte."""


def first_revision(upload: RegisterSkill) -> Revision:
    """The upload as a skill of its own."""
    return _revision(upload, uuid4(), 1)


def next_revision(upload: RegisterSkill, known: KnownSkill) -> Revision:
    """The upload as the next revision of a skill that is there."""
    return _revision(upload, known.skill_id, known.newest_revision + 1)


def _revision(upload: RegisterSkill, skill_id: UUID, number: int) -> Revision:
    return Revision(
        skill_id=skill_id,
        skill_name=upload.manifest.name,
        number=number,
        bundle=upload.bundle,
        manifest=upload.manifest,
        findings=upload.findings,
    )


def upload_refusal(known: KnownSkill) -> Problem | None:
    """Why nothing may be uploaded under this name now; None if something may."""
    if known.status == "rejected":
        return None
    message = (
        f"A skill named '{known.name}' already exists and is {known.status}. "
        "Once it is rejected it can be uploaded again; otherwise delete it, or take another name."
        if known.same_as_revision is None
        else f"This very content is already there: it is revision {known.same_as_revision} of the "
        f"skill '{known.name}', which is {known.status}. There is nothing to upload."
    )
    return Problem(
        code="SKILL_ALREADY_EXISTS",
        message=message,
        details=ProblemDetails(skill_id=known.skill_id, same_as_revision=known.same_as_revision),
    )
