"""What comes next for the control, which goes on beside the steps of its validation."""

from datetime import datetime

from assay_contracts.base import Failure, Result
from assay_contracts.grades import RunGraded
from assay_contracts.runs import RunFinished
from assay_scorer.domain.control import Control
from assay_scorer.domain.decisions import Decision, conclude, with_items
from assay_scorer.domain.validation import Validation
from assay_scorer.domain.work import work_for
from assay_scorer.domain.work_items import WorkItem


def begin_control(decision: Decision) -> Decision:
    """Ask for the control, beside what was decided, where there is an LLM to be controlled."""
    validation = decision.validation
    planner = validation.planner
    with_llm = planner is not None and not planner.is_rehearsal
    if not validation.wants_control or not with_llm or validation.is_full_test:
        return decision
    # In the background lane it never keeps the work of a verdict waiting.
    item = WorkItem(what="control_run", lane="background")
    begun = validation.model_copy(
        update={"control": Control(), "pieces": (*validation.pieces, item)}
    )
    return Decision(begun, decision.outgoing).and_say(work_for(begun, item))


def control_answered(
    validation: Validation, item: WorkItem, result: Result, now: datetime
) -> Decision:
    """Work of the control has ended well; what belongs to no step of it changes nothing."""
    assert validation.control is not None
    after = validation.model_copy(update={"control": validation.control.with_result(result)})
    match item.what, result:
        case "control_run", RunFinished():
            grading = WorkItem(what="control_grading", lane="background")
            ran = with_items(after, item, (grading,))
            return Decision(ran).and_say(work_for(ran, grading))
        case "control_grading", RunGraded():
            return _go_on(with_items(after, item), now)
        case _:
            return Decision(validation)


def control_failed(
    validation: Validation, item: WorkItem, failure: Failure, now: datetime
) -> Decision:
    """There will be no control."""
    assert validation.control is not None
    failed = validation.model_copy(update={"control": validation.control.failed(failure)})
    return _go_on(with_items(failed, item), now)


def _go_on(validation: Validation, now: datetime) -> Decision:
    """Conclude what waited for the control alone."""
    if validation.passes_because is None:
        return Decision(validation)
    return conclude(validation, "passed", validation.passes_because, now)


def without_control(validation: Validation, why: Failure, now: datetime) -> Decision:
    """Conclude what waited for a control that will not come."""
    (item,) = validation.control_items
    return control_failed(validation, item, why, now)
