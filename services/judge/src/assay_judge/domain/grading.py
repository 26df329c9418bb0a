"""What a grade must be before it counts: its evidence is in the material, its number allowed.

How high it may be at most is the table in `ceilings`.
"""

import re
import statistics
from collections.abc import Collection, Sequence
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from assay_contracts.grades import ContestedCheck, Evidence, Grade
from assay_contracts.runs import Trace
from assay_contracts.tasks import CheckResult, TaskId
from assay_judge.domain.ceilings import highest_grade, lowerings
from assay_judge.domain.skill_words import without_skill_words

SHORTEST_QUOTE: Final = 3
UNPROVEN: Final = 2
"""Highest grade for work of which there are only words."""
_CLAIMS: Final = ("answer", "task")


class Quotation(BaseModel):
    """Words taken from the material, exactly as they stand there."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    quote: str = Field(min_length=1, max_length=1000)


class Contest(BaseModel):
    """A check that is wrong: right work fails it, or wrong work passes it."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    check: int = Field(ge=1)
    """The check's number in the material."""
    reason: str = Field(min_length=1, max_length=1000)
    """What is wrong with it, and what in the material shows that."""


class GradeDraft(BaseModel):
    """A grade as the grader writes it: evidence first, then reasons, then the number."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    evidence: tuple[Quotation, ...] = Field(min_length=1, max_length=12)
    """Exact quotations from outputs, check details or the answer that the grade rests on."""
    contested_checks: tuple[Contest, ...] = Field(default=(), max_length=10)
    """Checks that are wrong themselves; none is the rule."""
    reasons: str = Field(min_length=1, max_length=3000)
    """What the evidence shows, measured by the rubric."""
    grade: int = Field(ge=1, le=5)
    """1 to 5 by the rubric."""


def counted_checks(
    checks: Sequence[CheckResult], contested: Collection[int]
) -> tuple[CheckResult, ...]:
    """The checks that may hold a grade down: all but the contested ones that code finds wrong too.

    Args:
        checks: In the order of the task.
        contested: Numbers, from 1, of the checks that the grader holds to be wrong.
    """
    return tuple(
        result
        for number, result in enumerate(checks, start=1)
        if number not in contested or not _is_wrong(result)
    )


def _is_wrong(result: CheckResult) -> bool:
    return result.passed_on_reference is False


def grade_problems(draft: GradeDraft, trace: Trace, checks: Sequence[CheckResult]) -> list[str]:
    """What is wrong with the evidence, in words the grader can act on."""
    problems = []
    places = [locate(quotation.quote, trace, checks) for quotation in draft.evidence]
    counted = counted_checks(checks, {contest.check for contest in draft.contested_checks})
    highest = min(draft.grade, highest_grade(trace, counted))
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
    problems += [
        f"There is no check {contest.check} to contest; the material has {len(checks)}."
        for contest in draft.contested_checks
        if contest.check > len(checks)
    ]
    return problems


def locate(quote: str, trace: Trace, checks: Sequence[CheckResult]) -> str | None:
    """Where the quotation stands, white space aside; None if nowhere."""
    wanted = _compact(quote)
    places = [
        *(
            (f"step {n} output", without_skill_words(step))
            for n, step in enumerate(trace.steps, start=1)
        ),
        *((f"file {file.path}", file.text) for file in trace.produced),
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
    """One grade from one or several verified drafts: their median, under the ceilings."""
    contested = _contested(drafts, checks)
    counted = counted_checks(checks, {contest.check for contest in contested})
    highest = highest_grade(trace, counted)
    capped = [min(draft.grade, highest) for draft in drafts]
    median = statistics.median_low(capped)
    chosen = drafts[capped.index(median)]
    return Grade(
        task_id=task_id,
        grade=median,
        reasons=chosen.reasons,
        evidence=tuple(
            Evidence(quote=q.quote, source=locate(q.quote, trace, checks) or "unknown")
            for q in chosen.evidence
        ),
        samples=tuple(capped) if len(capped) > 1 else (),
        judge_grade=chosen.grade,
        lowered_by=lowerings(chosen.grade, trace, counted),
        contested_checks=contested,
    )


def _contested(
    drafts: Sequence[GradeDraft], checks: Sequence[CheckResult]
) -> tuple[ContestedCheck, ...]:
    """What any of the drafts contests, each check once, in order."""
    reasons = {
        contest.check: contest.reason
        for draft in reversed(drafts)
        for contest in draft.contested_checks
        if contest.check <= len(checks)
    }
    return tuple(
        ContestedCheck(check=number, reason=reason, left_out=_is_wrong(checks[number - 1]))
        for number, reason in sorted(reasons.items())
    )


def _compact(text: str) -> str:
    # A model quotes from JSON, where line breaks and quotation marks stand escaped.
    plain = re.sub(r"\\[nrt]", " ", text).replace("\\", "")
    return re.sub(r"\s+", " ", plain).strip()
