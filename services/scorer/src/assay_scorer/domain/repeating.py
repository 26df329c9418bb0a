"""What comes next where tasks are repeated, each repeat in a run of its own, all side by side.

It waits for them, but needs none: what could not be carried out is left out, and the time that
repeats take is given back to the validation.
"""

from datetime import datetime, timedelta
from typing import Final

from assay_contracts.base import Result
from assay_contracts.grades import RunGraded
from assay_contracts.runs import RunFinished
from assay_scorer.domain.confidence import in_question
from assay_scorer.domain.decisions import Decision, dropping, with_items
from assay_scorer.domain.repeats import Repeat, Repeats
from assay_scorer.domain.validation import Validation
from assay_scorer.domain.work import work_for
from assay_scorer.domain.work_items import WorkItem

GRADING_TIME: Final = timedelta(seconds=60)
"""Left for grading, beside as long as the online run took."""


def considered(validation: Validation, now: datetime) -> Decision:
    """Repeat tasks where that could change the verdict; else what is known stands as it is."""
    decided = validation.repeats is not None or validation.repeats_missing is not None
    found = None if decided else in_question(validation)
    if found is None:
        return Decision(validation)
    if validation.repeats_allowed == 0:
        return Decision(validation.model_copy(update={"repeats_missing": "switched_off"}))
    if not _in_time(validation, now):
        return Decision(validation.model_copy(update={"repeats_missing": "no_time"}))
    cause, task_ids = found
    numbers = range(1, validation.repeats_allowed + 1)
    items = tuple(
        WorkItem(what="repeat_run", number=number, lane=validation.lane) for number in numbers
    )
    tries = tuple(Repeat(number=number) for number in numbers)
    repeats = Repeats(cause=cause, task_ids=task_ids, began_at=now, tries=tries)
    begun = dropping(validation, validation.awaited).model_copy(
        update={
            "step": "repeating",
            "repeats": repeats,
            "pieces": (*items, *validation.control_items),
        }
    )
    return Decision(begun).and_say(*(work_for(begun, item) for item in items))


def _in_time(validation: Validation, now: datetime) -> bool:
    assert validation.online is not None
    if validation.deadline is None:
        return True
    timings = validation.online.timings
    needed = timedelta(seconds=timings.wall if timings else 0.0) + GRADING_TIME
    return now + needed <= validation.deadline


def repeat_answered(validation: Validation, item: WorkItem, result: Result) -> Decision:
    """Work of a repeat has ended well; what belongs to none changes nothing."""
    if validation.repeats is None:
        return Decision(validation)
    match item.what, result:
        case "repeat_run", RunFinished():
            grading = WorkItem(what="repeat_grading", number=item.number, lane=validation.lane)
            ran = with_items(_with_result(validation, item, result), item, (grading,))
            return Decision(ran).and_say(work_for(ran, grading))
        case "repeat_grading", RunGraded():
            return Decision(with_items(_with_result(validation, item, result), item))
        case _:
            return Decision(validation)


def _with_result(
    validation: Validation, item: WorkItem, result: RunFinished | RunGraded
) -> Validation:
    assert validation.repeats is not None
    repeats = validation.repeats.with_result(item.number, result)
    return validation.model_copy(update={"repeats": repeats})


def left_out(validation: Validation, items: tuple[WorkItem, ...]) -> Decision:
    """These could not be carried out: the others count."""
    for item in items:
        validation = with_items(validation, item)
    return Decision(validation)


def is_over(validation: Validation) -> bool:
    """Whether all repeats have ended, well or not."""
    return validation.step == "repeating" and not validation.awaited


def given_time_back(validation: Validation, now: datetime) -> Validation:
    """With as much more time as the repeats took."""
    assert validation.repeats is not None
    if validation.deadline is None:
        return validation
    took = now - validation.repeats.began_at
    return validation.model_copy(update={"deadline": validation.deadline + took})
