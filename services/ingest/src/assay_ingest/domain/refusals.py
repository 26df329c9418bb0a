"""What an uploader hears when the format check found errors."""

from typing import Final

from assay_contracts.rpc import Problem, ProblemCode, ProblemDetails
from assay_contracts.skills import Finding
from assay_skillkit.check import CheckedSkill
from assay_skillkit.rules.archive import ARCHIVE_TOO_LARGE

MAX_FINDINGS: Final = 100
"""More would crowd a message, and nobody reads them before the first ones are mended."""


def listed_findings(checked: CheckedSkill) -> tuple[Finding, ...]:
    """As many findings as go into a message, errors first."""
    return checked.findings[:MAX_FINDINGS]


def refusal_of(checked: CheckedSkill) -> Problem:
    """Why an upload with errors is refused: its first error in words, all of them in the details.

    Raises:
        IndexError: Nothing about it is an error.
    """
    worst, count = checked.errors[0], len(checked.errors)
    where = f" ({worst.path})" if worst.path else ""
    more = f" There are {count - 1} more errors; see the findings." if count > 1 else ""
    return Problem(
        code=_problem_code(checked, worst),
        message=f"{worst.message}{where} {worst.fix}{more}",
        details=ProblemDetails(findings=listed_findings(checked)),
    )


def _problem_code(checked: CheckedSkill, worst: Finding) -> ProblemCode:
    if worst.code == ARCHIVE_TOO_LARGE.code:
        return "FILE_TOO_LARGE"
    return "INVALID_ZIP" if checked.archive_is_bad else "INVALID_SKILL_FORMAT"
