"""What a grade must be before it counts, and how high it may be at most.

The ceiling stands on what code saw, so that no text can talk a failed task into a good grade:

| what code saw | at most |
|---|---|
| every check failed | 2 |
| no command that was run succeeded | 2 |
| no check that failed before the work passes after it, and no checked file was changed | 2 |
| nothing was checked and no tool call succeeded | 2 |
| fewer than half of the checks passed | 3 |
| some check failed | 4 |
| otherwise | 5 |
"""

import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from assay_contracts.grades import Evidence, Grade
from assay_contracts.runs import Trace
from assay_contracts.tasks import CheckResult, CommandCheck, TaskId
from assay_judge.domain.material import shown_output

SHORTEST_QUOTE: Final = 3
UNPROVEN: Final = 2
"""Highest grade for work of which there are only words."""
_CLAIMS: Final = ("answer", "task")


class Quotation(BaseModel):
    """Words taken from the material, exactly as they stand there."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    quote: str = Field(min_length=1, max_length=1000)


class GradeDraft(BaseModel):
    """A grade as the grader writes it: evidence first, then reasons, then the number."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    evidence: tuple[Quotation, ...] = Field(min_length=1, max_length=12)
    """Exact quotations from outputs, check details or the answer that the grade rests on."""
    reasons: str = Field(min_length=1, max_length=3000)
    """What the evidence shows, measured by the rubric."""
    grade: int = Field(ge=1, le=5)
    """1 to 5 by the rubric."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    grade: int
    why: str


def ceiling(trace: Trace, checks: Sequence[CheckResult]) -> Ceiling:
    """The highest grade that what code saw allows."""
    passed = sum(result.passed for result in checks)
    if checks and not passed:
        return Ceiling(2, "every check failed")
    runs = [step for step in trace.steps if step.exit_code is not None]
    if runs and all(step.exit_code != 0 for step in runs):
        return Ceiling(2, "no command that was run succeeded")
    if checks and not any(_shows_work(result, trace) for result in checks):
        return Ceiling(2, "no check that passed had failed before the work")
    if not checks and all(step.failed for step in trace.steps):
        return Ceiling(2, "nothing was checked and no tool call succeeded")
    if passed * 2 < len(checks):
        return Ceiling(3, "fewer than half of the checks passed")
    if passed < len(checks):
        return Ceiling(4, "some check failed")
    return Ceiling(5, "no check failed")


def _shows_work(result: CheckResult, trace: Trace) -> bool:
    path = None if isinstance(result.check, CommandCheck) else result.check.path
    return result.passed and (not result.passed_before or path in trace.files_made)


def grade_problems(draft: GradeDraft, trace: Trace, checks: Sequence[CheckResult]) -> list[str]:
    """What is wrong with the evidence, in words the grader can act on."""
    problems = []
    places = [locate(quotation.quote, trace, checks) for quotation in draft.evidence]
    highest = min(draft.grade, ceiling(trace, checks).grade)
    if highest > UNPROVEN and set(places) <= {*_CLAIMS, None}:
        problems.append(
            f"A grade above {UNPROVEN} needs evidence from an output, a check or the files made; "
            "only the task's and the agent's own words are quoted."
        )
    for number, quotation in enumerate(draft.evidence, start=1):
        if len(quotation.quote.strip()) < SHORTEST_QUOTE:
            problems.append(f"Quotation {number} is too short to show anything.")
        elif locate(quotation.quote, trace, checks) is None:
            problems.append(
                f"Quotation {number} ({quotation.quote[:120]!r}) stands nowhere in the material. "
                "Quote exactly, or drop it."
            )
    return problems


def locate(quote: str, trace: Trace, checks: Sequence[CheckResult]) -> str | None:
    """Where the quotation stands, white space aside; None if nowhere."""
    wanted = _compact(quote)
    places = [
        *((f"step {n} output", shown_output(step)) for n, step in enumerate(trace.steps, start=1)),
        *((f"step {n} arguments", step.arguments) for n, step in enumerate(trace.steps, start=1)),
        *((f"check {n}", result.detail) for n, result in enumerate(checks, start=1)),
        ("answer", trace.answer),
        ("files made", "\n".join(trace.files_made)),
        ("task", trace.prompt),
    ]
    return next((place for place, text in places if wanted in _compact(text)), None)


def final_grade(
    drafts: Sequence[GradeDraft], *, task_id: TaskId, trace: Trace, checks: Sequence[CheckResult]
) -> Grade:
    """One grade from one or several verified drafts: their median, under the ceiling."""
    highest = ceiling(trace, checks)
    capped = [min(draft.grade, highest.grade) for draft in drafts]
    median = statistics.median_low(capped)
    chosen = drafts[capped.index(median)]
    reasons = chosen.reasons
    if chosen.grade > highest.grade:
        reasons += f" Lowered from {chosen.grade} to {highest.grade}: {highest.why}."
    return Grade(
        task_id=task_id,
        grade=median,
        reasons=reasons,
        evidence=tuple(
            Evidence(quote=q.quote, source=locate(q.quote, trace, checks) or "unknown")
            for q in chosen.evidence
        ),
        samples=tuple(capped) if len(capped) > 1 else (),
    )


def _compact(text: str) -> str:
    # A model quotes from JSON, where line breaks and quotation marks stand escaped.
    plain = re.sub(r"\\[nrt]", " ", text).replace("\\", "")
    return re.sub(r"\s+", " ", plain).strip()
