"""The score: weights and thresholds in one place, computed from grades and traces alone."""

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

from assay_contracts.grades import Grade
from assay_contracts.runs import TaskOutcome
from assay_contracts.scores import Scores

COMPLETION_WEIGHT: Final = Decimal("0.50")
TRIGGER_WEIGHT: Final = Decimal("0.35")
OFFLINE_WEIGHT: Final = Decimal("0.15")

ONLINE_PASS: Final = 50.0
OFFLINE_PASS: Final = 70.0
OVERALL_PASS: Final = 70.0

FULL: Final = 100.0
FEW_CALLS: Final = 2
FEW_CALLS_SCORE: Final = 70.0


def _one_decimal(value: Decimal) -> float:
    return float(value.quantize(Decimal("0.1"), rounding=ROUND_HALF_UP))


def converted(grade: int) -> int:
    """1–5 as 0–100."""
    return (grade - 1) * 25


def completion(grades: Sequence[Grade]) -> float:
    """Mean of the converted grades; there is at least one."""
    total = sum(converted(grade.grade) for grade in grades)
    return _one_decimal(Decimal(total) / len(grades))


def trigger(outcomes: Sequence[TaskOutcome], skill: str) -> float:
    """Share of tasks, in percent, whose trace shows `skill` being used; there is at least one."""
    used = sum(any(use.skill == skill for use in outcome.skills_used) for outcome in outcomes)
    return _one_decimal(Decimal(100 * used) / len(outcomes))


def offline(calls: int) -> float:
    """From the number of network calls attempted in the offline run."""
    if calls == 0:
        return FULL
    return FEW_CALLS_SCORE if calls <= FEW_CALLS else 0.0


def combine(completion_score: float, trigger_score: float, offline_score: float | None) -> Scores:
    """Weigh the dimensions; an offline run that never happened adds nothing."""
    overall = (
        COMPLETION_WEIGHT * Decimal(str(completion_score))
        + TRIGGER_WEIGHT * Decimal(str(trigger_score))
        + OFFLINE_WEIGHT * Decimal(str(offline_score or 0.0))
    )
    return Scores(
        completion=completion_score,
        trigger=trigger_score,
        offline=offline_score,
        overall=_one_decimal(overall),
    )
