"""What a score rests on: how far it could lie off, and whether that could change the verdict."""

from collections.abc import Iterator, Sequence
from math import comb
from typing import Final

from assay_contracts.attribution import counted_grade
from assay_contracts.confidence import (
    Confidence,
    PassPower,
    RepeatCause,
    RepeatsMissing,
    TaskTries,
)
from assay_contracts.grades import Grade, is_done, points
from assay_contracts.runs import RunFinished
from assay_contracts.scores import DIMENSIONS, ONLINE_PASS_MARK, OVERALL_PASS_MARK, Scores
from assay_contracts.tasks import TaskId
from assay_scorer.domain.scoring import median
from assay_scorer.domain.validation import Validation

APART: Final = 1
"""Grades that samples of one result may differ by before they are held to be apart."""
_COMPLETION: Final = next(each.weight for each in DIMENSIONS if each.name == "completion") / 100


def is_rehearsed(validation: Validation) -> bool:
    """Whether the same would come out each time."""
    run = validation.online
    return run is not None and run.model is not None and run.model.is_rehearsal


def in_question(validation: Validation) -> tuple[RepeatCause, tuple[TaskId, ...]] | None:
    """Why repeating could change the verdict, and which tasks it is about; None when it could not.

    Before the offline run is graded, only what would keep it from being carried out is looked at.
    """
    scores = validation.measured
    if scores is None or is_rehearsed(validation):
        return None
    tasks = tuple(task.task_id for task in validation.tasks)
    early = validation.offline_graded is None
    if early and scores.completion >= ONLINE_PASS_MARK:
        return None
    if validation.is_full_test:
        return "full_test", tasks
    if apart := _graders_apart(validation):
        return "graders_apart", apart
    cause = _near(scores, spread(validation))
    return (cause, tasks) if cause else None


def _near(scores: Scores, within: float) -> RepeatCause | None:
    if abs(scores.completion - ONLINE_PASS_MARK) <= within / _COMPLETION:
        return "near_completion_mark"
    if scores.offline is not None and abs(scores.overall - OVERALL_PASS_MARK) <= within:
        return "near_pass_mark"
    return None


def _graders_apart(validation: Validation) -> tuple[TaskId, ...]:
    grades = validation.online_graded.grades if validation.online_graded else ()
    return tuple(
        grade.task_id
        for grade in grades
        if grade.samples and max(grade.samples) - min(grade.samples) > APART
    )


def spread(validation: Validation) -> float:
    """Points by which the overall score could well lie off; 0 where the same would come out."""
    tries = tuple(_by_task(validation))
    if not tries or is_rehearsed(validation):
        return 0.0
    one_grade = _one_grade(tries)
    open_points = sum(points(max(each.samples)) - points(min(each.samples)) for each in tries)
    half_open = open_points / len(tries) / 2
    return round(max(one_grade, _COMPLETION * half_open), 1)


def _one_grade(tries: Sequence[TaskTries]) -> float:
    """What one grade of one task is worth, in points of the overall score."""
    return _COMPLETION * (points(2) - points(1)) / len(tries)


def _by_task(validation: Validation) -> Iterator[TaskTries]:
    runs = _runs(validation)
    for task in validation.tasks:
        found = [
            (outcome, grade)
            for run, grades in runs
            for outcome in run.outcomes
            for grade in grades
            if outcome.task_id == grade.task_id == task.task_id
        ]
        if not found:
            continue
        counted = tuple(counted_grade(grade.grade, outcome.attribution) for outcome, grade in found)
        samples = (
            counted_grade(sample, outcome.attribution)
            for outcome, grade in found
            for sample in grade.samples or (grade.grade,)
        )
        yield TaskTries(
            task_id=task.task_id,
            grades=counted,
            counted=median(counted),
            used=tuple(outcome.used(validation.skill_name) for outcome, _ in found),
            samples=tuple(samples),
        )


def _runs(validation: Validation) -> list[tuple[RunFinished, tuple[Grade, ...]]]:
    """The online run and its repeats, with their grades."""
    runs: list[tuple[RunFinished, tuple[Grade, ...]]] = []
    if validation.online is not None and validation.online_graded is not None:
        runs.append((validation.online, validation.online_graded.grades))
    done = validation.repeats.done if validation.repeats else ()
    return [*runs, *((run, graded.grades) for run, graded in done)]


def confidence(validation: Validation) -> Confidence | None:
    """What the report says of it; None when nothing was scored."""
    scores, tries = validation.measured, tuple(_by_task(validation))
    if scores is None or validation.verdict is None or not tries:
        return None
    within = spread(validation)
    repeats = validation.repeats
    done = len(repeats.done) if repeats else 0
    return Confidence(
        tasks=len(tries),
        tries=sum(len(each.grades) for each in tries),
        samples=sum(len(each.samples) for each in tries),
        spread=within,
        could_change=bool(within) and _near(scores, within) is not None,
        repeated_because=repeats.cause if repeats and done else None,
        repeats=done,
        repeated_tasks=repeats.task_ids if repeats and done else (),
        not_repeated_because=_not_repeated(validation, scores, tries),
        by_task=tries,
        pass_power=tuple(_pass_power(tries)) if validation.is_full_test else (),
    )


def _not_repeated(
    validation: Validation, scores: Scores, tries: Sequence[TaskTries]
) -> RepeatsMissing | None:
    if validation.repeats is not None:
        return None if validation.repeats.done else "failed"
    if is_rehearsed(validation) and _near(scores, _one_grade(tries)):
        return "rehearsal"
    return validation.repeats_missing


def _pass_power(tries: tuple[TaskTries, ...]) -> Iterator[PassPower]:
    most = max(len(each.grades) for each in tries)
    for k in range(1, most + 1):
        chances = [
            comb(sum(map(is_done, each.grades)), k) / comb(len(each.grades), k)
            for each in tries
            if len(each.grades) >= k
        ]
        yield PassPower(k=k, share=round(sum(chances) / len(chances), 4))
