"""What may be done with a skill, by its status: one table, and the refusals that follow."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, Literal
from uuid import UUID

from assay_contracts.base import Model
from assay_contracts.rpc import Problem, ProblemCode, ProblemDetails
from assay_contracts.skills import SkillStatus
from assay_scorer.domain.environment import version_label
from assay_scorer.domain.revisions import Revision
from assay_scorer.domain.validation import Cause, Validation

Action = Literal["approve", "reject", "delete", "revalidate", "cancel"]

ALLOWED: Final[Mapping[SkillStatus, tuple[Action, ...]]] = {
    "pending": ("approve", "reject", "revalidate"),
    "validating": ("cancel",),
    "approved": ("delete",),
    "rejected": ("revalidate", "delete"),
    "rollback_pending": ("revalidate", "delete"),
}
WHILE_OPEN: Final[tuple[Action, ...]] = ("cancel",)
"""Whatever the status: a validation that waits for its turn counts too."""
INCONCLUSIVE: Final[Mapping[Cause | None, ProblemCode]] = {
    None: "VALIDATION_NOT_COMPLETED",
    "deadline": "VALIDATION_TIMEOUT",
    "installing": "DEPENDENCY_INSTALL_FAILED",
}
"""What an approval is answered whose validation came to no verdict, by why it did not."""
CANDIDATE_LIFE: Final = timedelta(hours=24)
"""From the start of a validation, where the runner that left the candidate did not say."""
EXPIRY_MARGIN: Final = timedelta(minutes=10)
"""A candidate this close to its end could be gone before it is kept."""


class SkillUnderReview(Model):
    """A skill as it is when somebody wants something done with it."""

    status: SkillStatus
    revision: Revision
    """The newest."""
    validation: Validation | None
    """The newest of that revision, full tests apart; None before its first."""

    @property
    def skill_id(self) -> UUID:
        return self.revision.skill_id

    @property
    def name(self) -> str:
        return self.revision.skill_name

    @property
    def under_way(self) -> bool:
        return self.validation is not None and self.validation.step != "done"

    @property
    def allowed(self) -> tuple[Action, ...]:
        if self.under_way:
            return WHILE_OPEN
        actions = ALLOWED[self.status]
        if self.validation is None:
            return tuple(each for each in actions if each != "approve")
        return actions

    @property
    def unused_candidate(self) -> tuple[Validation, str] | None:
        """A snapshot that waits for an approval, and what left it."""
        passed = self.validation
        if passed is None or passed.candidate is None:
            return None
        waits = self.status == "pending" and passed.verdict == "passed"
        return (passed, passed.candidate) if waits else None


def refusal(action: Action, skill: SkillUnderReview) -> Problem | None:
    """Why this may not be done now; None if it may."""
    if action == "approve":
        return _not_approvable(skill)
    if action in skill.allowed:
        return None
    if action == "revalidate" and skill.under_way:
        return _problem(
            skill,
            "VALIDATION_IN_PROGRESS",
            f"'{skill.name}' is being validated already. Wait until that has ended, or cancel it.",
        )
    return _illegal(action, skill)


def _not_approvable(skill: SkillUnderReview) -> Problem | None:
    validation = skill.validation
    if validation is None:
        return _problem(
            skill,
            "VALIDATION_NOT_COMPLETED",
            f"'{skill.name}' has not been validated yet. Validate it, then approve it.",
        )
    if skill.under_way:
        return _problem(
            skill,
            "VALIDATION_NOT_COMPLETED",
            f"'{skill.name}' is still being validated. Approve it when that has ended.",
        )
    if skill.status == "rejected" and validation.layer2_passed is False:
        broken = tuple(each.skill.name for each in validation.broken)
        named = ", ".join(f"'{name}'" for name in broken)
        return _problem(
            skill,
            "REGRESSION_FAILED",
            f"'{skill.name}' cannot be approved: with it, {named} no longer "
            "works. Mend it and upload it again.",
            failed_skills=broken,
        )
    if "approve" not in skill.allowed:
        return _illegal("approve", skill)
    if validation.verdict != "passed":
        return _problem(
            skill,
            INCONCLUSIVE[validation.cause],
            f"The last validation of '{skill.name}' came to no verdict: {validation.reason} "
            "Validate it again.",
        )
    return None


def stale_candidate(skill: SkillUnderReview, current_version: int, now: datetime) -> Problem | None:
    """Why the candidate cannot become the next version although the skill passed; None if it can.

    What was tested is the skill on the version it started from. On any other it is untested.
    """
    passed = skill.validation
    assert passed is not None
    built_on = passed.environment.runtime_version
    if built_on != current_version:
        why = (
            f"it was validated on runtime version {version_label(built_on)}, and the current one "
            f"is {version_label(current_version)}"
        )
    elif now > (expires_at := _candidate_expires_at(passed, now)) - EXPIRY_MARGIN:
        until = f"{expires_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
        why = f"the environment it was validated in is kept until {until} only"
    else:
        return None
    return _problem(
        skill,
        "INVALID_STATUS_TRANSITION",
        f"'{skill.name}' cannot be approved as it is: {why}. Revalidate it, then approve it.",
    )


def _candidate_expires_at(passed: Validation, now: datetime) -> datetime:
    return passed.candidate_expires_at or (passed.started_at or now) + CANDIDATE_LIFE


def _illegal(action: Action, skill: SkillUnderReview) -> Problem:
    state = "being validated" if skill.under_way else skill.status.replace("_", " ")
    return _problem(
        skill,
        "INVALID_STATUS_TRANSITION",
        f"'{skill.name}' is {state}: it is not possible to {action} it now. "
        f"Possible: {', '.join(skill.allowed)}.",
        besides=action,
    )


def _problem(
    skill: SkillUnderReview,
    code: ProblemCode,
    message: str,
    *,
    besides: Action = "approve",
    failed_skills: tuple[str, ...] = (),
) -> Problem:
    """A refusal that names everything else that may be done."""
    return Problem(
        code=code,
        message=message,
        details=ProblemDetails(
            skill_id=skill.skill_id,
            allowed=tuple(each for each in skill.allowed if each != besides),
            failed_skills=failed_skills,
        ),
    )
