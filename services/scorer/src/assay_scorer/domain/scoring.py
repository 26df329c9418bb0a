"""The score, computed from grades and traces alone.

Every dimension in the table of the contracts has one function here, by its name.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from statistics import median_low
from typing import Final

from assay_contracts.attribution import counted_grade
from assay_contracts.grades import PARTLY_DONE_GRADE, Grade, is_done, points
from assay_contracts.runs import RunFinished, TaskOutcome
from assay_contracts.scores import DIMENSIONS, Scores
from assay_contracts.tasks import TaskId

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
    offline_grades: Sequence[Grade] = ()
    """None before they are there."""
    repeats: Sequence[tuple[RunFinished, Sequence[Grade]]] = ()
    """Further tries of tasks of the online run, with their grades."""


def completion(observed: Observed) -> float:
    """Mean of the points of the online run, of work done with the skill in full.

    Of a task that was repeated, the median of its tries counts.
    """
    tries = _counted_grades(observed)
    counted = [median(tries[each.task_id]) for each in _telling_grades(observed)]
    return _one_decimal(Decimal(sum(map(points, counted))) / len(counted))


def _counted_grades(observed: Observed) -> Mapping[TaskId, list[int]]:
    found: dict[TaskId, list[int]] = {grade.task_id: [] for grade in observed.online_grades}
    for run, grades in ((observed.online, observed.online_grades), *observed.repeats):
        parts = {outcome.task_id: outcome.attribution for outcome in run.outcomes}
        for grade in grades:
            counted = counted_grade(grade.grade, parts.get(grade.task_id))
            found.setdefault(grade.task_id, []).append(counted)
    return found


def median(tries: Sequence[int]) -> int:
    """The middle one, or the lower of the two in the middle: in doubt, less is known to work."""
    return median_low(tries)


def _telling_grades(observed: Observed) -> Sequence[Grade]:
    """All grades, but for rehearsed tasks that used the skill and show nothing of it."""
    silent = {
        outcome.task_id
        for outcome in observed.online.outcomes
        if outcome.shows == "nothing" and outcome.used(observed.skill_name)
    }
    return [each for each in observed.online_grades if each.task_id not in silent] or list(
        observed.online_grades
    )


def trigger(observed: Observed) -> float:
    """Share of the tasks of the online run, in percent, in which the skill was used.

    In a task that was repeated, it was if it was in most of the tries.
    """
    used: dict[TaskId, list[int]] = {}
    for run in (observed.online, *(run for run, _ in observed.repeats)):
        for outcome in run.outcomes:
            used.setdefault(outcome.task_id, []).append(outcome.used(observed.skill_name))
    return _one_decimal(Decimal(100 * sum(map(median, used.values()))) / len(used))


def offline(observed: Observed) -> float | None:
    """From what the offline run lacked the network for.

    Each call that was the skill's doing counts, and each task that was done online and not without
    a network, unless such a call of it is counted already. If no task was left that worked: 0.
    """
    if observed.offline is None:
        return None
    lost = lost_offline(observed)
    if lost and len(lost) == len(_worked_online(observed)):
        return 0.0
    seen = {call.task_id for call in observed.offline.network_calls if call.counts}
    unseen = sum(task_id not in seen for task_id in lost)
    calls = observed.offline.network_calls_counted + unseen
    if calls == 0:
        return FULL
    return FEW_CALLS_SCORE if calls <= FEW_CALLS else 0.0


def lost_offline(observed: Observed) -> tuple[TaskId, ...]:
    """The tasks that were done online, or in part, and were done less offline.

    What a limit of ours stood in the way of is not among them. Work that an agent did there without
    the skill counts as it is: that it was not chosen is nothing about the network.
    """
    if observed.offline is None:
        return ()
    outcomes = {outcome.task_id: outcome for outcome in observed.offline.outcomes}
    ours = {each.task_id for each in observed.offline.outcomes if _hit_our_limit(each)}
    online = _worked_online(observed)
    return tuple(
        grade.task_id
        for grade in observed.offline_grades
        if grade.task_id in online
        and grade.task_id not in ours
        and _extent(_done_offline(grade, outcomes.get(grade.task_id))) < online[grade.task_id]
    )


def _worked_online(observed: Observed) -> Mapping[TaskId, int]:
    """How far each task was done online, of those that were done at least in part."""
    parts = {outcome.task_id: outcome.attribution for outcome in observed.online.outcomes}
    extents = {
        grade.task_id: _extent(counted_grade(grade.grade, parts.get(grade.task_id)))
        for grade in observed.online_grades
    }
    return {task_id: extent for task_id, extent in extents.items() if extent}


def _extent(grade: int) -> int:
    """2 done, 1 done in part, 0 neither."""
    return int(grade >= PARTLY_DONE_GRADE) + int(is_done(grade))


def _done_offline(grade: Grade, outcome: TaskOutcome | None) -> int:
    part = outcome.attribution if outcome else None
    return counted_grade(grade.grade, part) if part and part.kind == "around" else grade.grade


def _hit_our_limit(outcome: TaskOutcome) -> bool:
    return "tokens" in outcome.bounds_hit or any(each.is_limit for each in outcome.obstacles)


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
