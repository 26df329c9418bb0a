"""A revision of a skill, and how every validation of one begins."""

from datetime import datetime
from uuid import UUID, uuid4

from assay_contracts.base import Model
from assay_contracts.skills import BundleRef, Finding, SkillManifest
from assay_contracts.validations import ValidationKind
from assay_scorer.domain.validation import Validation


class Revision(Model):
    """What was uploaded under a skill's name: the first, or the next."""

    skill_id: UUID
    skill_name: str
    number: int
    bundle: BundleRef
    manifest: SkillManifest
    findings: tuple[Finding, ...]


def new_validation(
    revision: Revision, kind: ValidationKind, now: datetime, traceparent: str | None = None
) -> Validation:
    """A queued validation of which nothing is known yet.

    Args:
        revision: what is to be validated.
        kind: why.
        now: when it was asked for.
        traceparent: the trace of the request that asked for it.
    """
    return Validation(
        validation_id=uuid4(),
        skill_id=revision.skill_id,
        skill_name=revision.skill_name,
        revision=revision.number,
        kind=kind,
        bundle=revision.bundle,
        manifest=revision.manifest,
        findings=revision.findings,
        queued_at=now,
        traceparent=traceparent,
    )
