"""Refusals that several use cases give."""

from uuid import UUID

from assay_contracts.rpc import Problem, ProblemDetails, ProblemError


def skill_not_found(skill_id: UUID) -> ProblemError:
    return ProblemError(
        Problem(
            code="SKILL_NOT_FOUND",
            message=f"No skill has the id {skill_id}. List the skills to see the ids there are.",
            details=ProblemDetails(skill_id=skill_id),
        )
    )


def raise_if(problem: Problem | None) -> None:
    """Raises ProblemError if there is a problem."""
    if problem is not None:
        raise ProblemError(problem)
