"""Refusals that several use cases give."""

from typing import TypeVar
from uuid import UUID

from assay_contracts.rpc import Problem, ProblemDetails, ProblemError

T = TypeVar("T")


def skill_not_found(skill_id: UUID) -> ProblemError:
    return ProblemError(
        Problem(
            code="SKILL_NOT_FOUND",
            message=f"No skill has the id {skill_id}. List the skills to see the ids there are.",
            details=ProblemDetails(skill_id=skill_id),
        )
    )


def known(found: T | None, skill_id: UUID) -> T:
    """What was found of a skill. Raises ProblemError SKILL_NOT_FOUND if nothing was."""
    if found is None:
        raise skill_not_found(skill_id)
    return found


def raise_if(problem: Problem | None) -> None:
    """Raises ProblemError if there is a problem."""
    if problem is not None:
        raise ProblemError(problem)
