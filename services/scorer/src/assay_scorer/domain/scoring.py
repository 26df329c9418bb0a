"""The score, computed from grades and traces alone.

Every dimension in the table of the contracts has one function here, by its name.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

from assay_contracts.attribution import counted_grade
from assay_contracts.grades import Grade, points
from assay_contracts.runs import RunFinished
from assay_contracts.scores import DIMENSIONS, Scores

FULL: Final = 100.0
FEW_CALLS: Final = 2
FEW_CALLS_SCORE: Final = 70.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What scores are computed from."""

    skill_name: str
    """The skill under test."""
    online: RunFinished
    """With at least one outcome."""
    online_grades: Sequence[Grade]
    """At least one."""
    offline: RunFinished | None
    """None when there was no offline run, or not yet."""


def completion(observed: Observed) -> float:
    """Mean of the points of the online run, of work done with the skill in full."""
    parts = {outcome.task_id: outcome.attribution for outcome in observed.online.outcomes}
    counted = [
        counted_grade(grade.grade, parts.get(grade.task_id)) for grade in observed.online_grades
    ]
    return _one_decimal(Decimal(sum(map(points, counted))) / len(counted))


def trigger(observed: Observed) -> float:
    """Share of the tasks of the online run, in percent, in which the skill was used."""
    outcomes = observed.online.outcomes
    used = sum(outcome.used(observed.skill_name) for outcome in outcomes)
    return _one_decimal(Decimal(100 * used) / len(outcomes))


def offline(observed: Observed) -> float | None:
    """From the number of network calls in the offline run that were the skill's doing."""
    if observed.offline is None:
        return None
    calls = observed.offline.network_calls_counted
    if calls == 0:
        return FULL
    return FEW_CALLS_SCORE if calls <= FEW_CALLS else 0.0


MEASURES: Final[Mapping[str, Callable[[Observed], float | None]]] = {
    "completion": completion,
    "trigger": trigger,
    "offline": offline,
}
"""By the name of the dimension."""


def scored(observed: Observed, *, offline_unknown: float | None = None) -> Scores:
    """The scores; `offline_unknown` stands for an offline run that there was not."""
    measured = {each.name: MEASURES[each.name](observed) for each in DIMENSIONS}
    if measured["offline"] is None:
        measured["offline"] = offline_unknown
    return combined(measured)


def combined(measured: Mapping[str, float | None]) -> Scores:
    """The scores by dimension, and the overall one: what was not measured adds nothing to it."""
    weighed = (each.weight * Decimal(str(measured[each.name] or 0.0)) for each in DIMENSIONS)
    overall = _one_decimal(sum(weighed, Decimal(0)) / 100)
    return Scores.model_validate({**measured, "overall": overall})


def _one_decimal(value: Decimal) -> float:
    return float(value.quantize(Decimal("0.1"), rounding=ROUND_HALF_UP))
