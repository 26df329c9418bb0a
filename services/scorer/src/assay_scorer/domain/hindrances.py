"""What stood in the way of tasks and is not the skill's, and what that leaves of a failure.

A task is *hindered* where an obstacle was not overcome and the task was not done. A skill fails
only if it would fail even with all of its hindered tasks done as well as can be; otherwise nothing
is known, and the validation is inconclusive. A hindered task still counts for what it is worth, so
no skill passes because of an obstacle.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from assay_contracts.attribution import counted_grade
from assay_contracts.grades import BEST_GRADE, Grade, is_done
from assay_contracts.obstacles import Obstacle
from assay_contracts.runs import RunFinished, RunKind, TaskOutcome
from assay_contracts.scores import Scores
from assay_contracts.tasks import TaskId
from assay_scorer.domain.scoring import FULL, Observed, scored

NAMED: Final = 3
"""Obstacles that a reason names; the report tells of all."""

_ANYTHING_HINDERS: Final[tuple[RunKind, ...]] = ("online", "control")
"""Later runs have what the online run had: where something is missing there, that is their result,
and where no host resolves, that is what they are for. Only limits hinder them."""


@dataclass(frozen=True, slots=True)
class Hindered:
    """A task that was not done, and what stood in its way."""

    task_id: TaskId
    obstacles: tuple[Obstacle, ...]


def hindered_tasks(
    kind: RunKind, run: RunFinished | None, grades: Sequence[Grade]
) -> tuple[Hindered, ...]:
    """The tasks of a run that were hindered, in the order of their grades."""
    outcomes = {each.task_id: each for each in run.outcomes} if run else {}
    found = (
        Hindered(grade.task_id, hindering(kind, outcomes[grade.task_id]))
        for grade in grades
        if grade.task_id in outcomes
        and not is_done(counted_grade(grade.grade, outcomes[grade.task_id].attribution))
    )
    return tuple(each for each in found if each.obstacles)


def hindering(kind: RunKind, outcome: TaskOutcome) -> tuple[Obstacle, ...]:
    """What stood in the way of a task, as far as that is no result of such a run."""
    return tuple(each for each in outcome.obstacles if each.is_limit or kind in _ANYTHING_HINDERS)


def best_case(observed: Observed, hindered: Sequence[Hindered]) -> Scores:
    """What the score could be, had the hindered tasks been done as well as can be.

    An offline run that there was not is taken for a perfect one.
    """
    names = {each.task_id for each in hindered}
    outcomes = tuple(
        each.model_copy(update={"attribution": None}) if each.task_id in names else each
        for each in observed.online.outcomes
    )
    grades = tuple(
        each.model_copy(update={"grade": BEST_GRADE}) if each.task_id in names else each
        for each in observed.online_grades
    )
    online = observed.online.model_copy(update={"outcomes": outcomes})
    lifted = replace(observed, online=online, online_grades=grades, repeats=())
    return scored(lifted, offline_unknown=FULL)


def told(hindered: Sequence[Hindered]) -> str:
    """What stood in the way, in which tasks, and what to do about it."""
    tasks: dict[tuple[str, str], list[TaskId]] = {}
    first: dict[tuple[str, str], Obstacle] = {}
    for each in hindered:
        for obstacle in each.obstacles:
            key = (obstacle.kind, obstacle.what)
            first.setdefault(key, obstacle)
            if each.task_id not in tasks.setdefault(key, []):
                tasks[key].append(each.task_id)
    named = [
        f"{_sentence(obstacle)} ({', '.join(tasks[key])}: {obstacle.observed.rstrip('.')}). "
        f"{obstacle.advice}"
        for key, obstacle in list(first.items())[:NAMED]
    ]
    more = len(first) - NAMED
    return " ".join([*named, f"And {more} more."] if more > 0 else named)


def _sentence(obstacle: Obstacle) -> str:
    return _SENTENCES[obstacle.kind].format(obstacle.what)


_SENTENCES: Final = {
    "file_size": "our sandbox allows files of {}",
    "memory": "our sandbox has {} of memory",
    "space": "our sandbox ran out of space: {}",
    "processes": "our sandbox allows {} processes",
    "open_files": "our sandbox allows {} open files",
    "time": "a command may take {} in our sandbox, and was still at work then",
    "missing_tool": "our sandbox has no {}",
    "unreachable_host": "{} could not be reached",
    "missing_key": "needs a key or a login: {}",
    "missing_precondition": "needs {}",
}
