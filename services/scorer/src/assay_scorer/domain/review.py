"""What may be done with a skill, by its status: one table, and the refusals that follow."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, Literal
from uuid import UUID

from assay_contracts.base import Model
from assay_contracts.rpc import Problem, ProblemCode, ProblemDetails
from assay_contracts.skills import SkillStatus
from assay_scorer.domain.environment import version_label
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
EXPIRY_MARGIN: Final = timedelta(minutes=10)
"""A candidate this close to its end could be gone before it is kept."""


class Standing(Model):
    """A skill as it stands when somebody wants something done with it."""

    skill_id: UUID
    name: str
    status: SkillStatus
    validation: Validation
    """The newest of the newest revision."""
    validated: bool = True
    """False: the revision has no validation yet, and this is how its first one would begin."""

    @property
    def under_way(self) -> bool:
        return self.validated and self.validation.step != "done"

    @property
    def allowed(self) -> tuple[Action, ...]:
        if self.under_way:
            return WHILE_OPEN
        actions = ALLOWED[self.status]
        return actions if self.validated else tuple(each for each in actions if each != "approve")


def refusal(action: Action, skill: Standing) -> Problem | None:
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


def _not_approvable(skill: Standing) -> Problem | None:
    validation = skill.validation
    if not skill.validated:
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
        broken = ", ".join(f"'{each.skill.name}'" for each in validation.broken)
        return _problem(
            skill,
            "REGRESSION_FAILED",
            f"'{skill.name}' cannot be approved: with it, {broken} no longer "
            "works. Mend it and upload it again.",
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


def stale_candidate(
    skill: Standing, current_version: int, now: datetime, time_to_live: timedelta
) -> Problem | None:
    """Why the candidate cannot become the next version although the skill passed; None if it can.

    What was tested is the skill on the version it started from. On any other it is untested.
    """
    built_on = skill.validation.environment.runtime_version
    if built_on != current_version:
        why = (
            f"it was validated on runtime version {version_label(built_on)}, and the current one "
            f"is {version_label(current_version)}"
        )
    elif now - (skill.validation.started_at or now) > time_to_live - EXPIRY_MARGIN:
        hours = time_to_live.total_seconds() / 3600
        why = f"the environment it was validated in is kept for {hours:g} hours only"
    else:
        return None
    return _problem(
        skill,
        "INVALID_STATUS_TRANSITION",
        f"'{skill.name}' cannot be approved as it is: {why}. Revalidate it, then approve it.",
    )


def _illegal(action: Action, skill: Standing) -> Problem:
    state = "being validated" if skill.under_way else skill.status.replace("_", " ")
    return _problem(
        skill,
        "INVALID_STATUS_TRANSITION",
        f"'{skill.name}' is {state}: it is not possible to {action} it now. "
        f"Possible: {', '.join(skill.allowed)}.",
        besides=action,
    )


def _problem(
    skill: Standing, code: ProblemCode, message: str, besides: Action = "approve"
) -> Problem:
    """A refusal that names everything else that may be done."""
    broken = skill.validation.broken if code == "REGRESSION_FAILED" else ()
    return Problem(
        code=code,
        message=message,
        details=ProblemDetails(
            skill_id=skill.skill_id,
            allowed=tuple(each for each in skill.allowed if each != besides),
            failed_skills=tuple(each.skill.name for each in broken),
        ),
    )
