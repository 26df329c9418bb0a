"""What becomes of a validation when work fails, its time is up, or somebody cancels it."""

from datetime import datetime, timedelta
from typing import Final, TypeGuard

from assay_contracts.base import Failure, Message, Work
from assay_contracts.grades import GradingRequested
from assay_contracts.reports import ReportRequested
from assay_contracts.runs import RunRequested
from assay_contracts.validations import CleanupRequested, ValidationRequested
from assay_scorer.domain import mending
from assay_scorer.domain.beside import control_failed, without_control
from assay_scorer.domain.budgets import money_is_spent
from assay_scorer.domain.decisions import Decision, ask_again, end_inconclusive, finish
from assay_scorer.domain.inputs import Cancelled, DeadlinePassed, GivenUp
from assay_scorer.domain.layer2 import failure_stands
from assay_scorer.domain.repeating import left_out
from assay_scorer.domain.validation import Validation
from assay_scorer.domain.work import clean_up
from assay_scorer.domain.work_items import WorkItem

TRIES: Final = 3
"""Failed attempts of one step before it is given up."""
FIRST_DELAY: Final = timedelta(seconds=2)


def work_failed(
    validation: Validation, item: WorkItem, failure: Failure, now: datetime
) -> Decision:
    """Ask again while there is hope; else end it, without a verdict where there is none yet."""
    if failure.category == "handed_over":
        return ask_again(validation, item, timedelta(0))
    if failure.category == "worker_died" and item.lane != "solo":
        return ask_again(validation, item.model_copy(update={"lane": "solo"}), timedelta(0))
    failures = item.failures + 1
    if failure.category not in ("worker_died", "budget") and failures < TRIES:
        failed_again = item.model_copy(update={"failures": failures})
        return ask_again(validation, failed_again, FIRST_DELAY * 2 ** (failures - 1))
    if item.is_control:
        return control_failed(validation, item, failure, now)
    if item.is_repeat:
        return left_out(validation, (item,))
    if validation.step == "reporting":
        return finish(validation, now)
    if validation.step == "mending":
        why = f"it could not be tried ({failure.category}): {failure.reason}"
        return failure_stands(validation, mending.undone(validation, why), now)
    about = f" for '{item.skill}'" if item.skill else ""
    reason = (
        f"{item.what.replace('_', ' ').capitalize()}{about} could not be completed "
        f"({failure.category}): {failure.reason}"
    )
    cause = "installing" if failure.while_installing else None
    return end_inconclusive(validation.model_copy(update={"cause": cause}), reason, now)


def within_money(decision: Decision, now: datetime) -> Decision:
    """The decision, as long as there is money for what it asks; else what is done without it."""
    spent = money_is_spent(decision.validation)
    costly = [each.message for each in decision.outgoing if _costs_money(each.message)]
    if spent is None or not costly:
        return decision
    free = tuple(each for each in decision.outgoing if not _costs_money(each.message))
    after = Decision(decision.validation, free)
    for work in costly:
        item = after.validation.open_item(work.step_id)
        if item is not None:
            gone_without = work_failed(after.validation, item, spent, now)
            after = Decision(gone_without.validation, (*after.outgoing, *gone_without.outgoing))
    return within_money(after, now)


def _costs_money(message: Message) -> TypeGuard[Work]:
    if isinstance(message, RunRequested):
        return bool(message.tasks)
    return isinstance(message, ValidationRequested | GradingRequested | ReportRequested)


def out_of_time(validation: Validation, given: DeadlinePassed | GivenUp, now: datetime) -> Decision:
    """End it if its deadline has passed."""
    if validation.deadline is None or now < validation.deadline:
        return Decision(validation)
    if isinstance(given, GivenUp):
        return _give_up(validation, now)
    if validation.passes_because is not None:
        late = Failure.of("timeout", "it was not done in time")
        return without_control(validation, late, now)
    if validation.step == "repeating":
        return left_out(validation, validation.awaited)
    if validation.step == "reporting":
        return finish(validation, now)
    if validation.step == "mending":
        undone = mending.undone(validation, "there was no time left")
        return failure_stands(validation, undone, now)
    reason = (
        f"The validation did not finish within its {validation.limit.total_seconds():g} s; "
        f"it was at: {validation.step.replace('_', ' ')}."
    )
    return end_inconclusive(validation.model_copy(update={"cause": "deadline"}), reason, now)


def _give_up(validation: Validation, now: datetime) -> Decision:
    """End it without what was found: neither a verdict nor a report can be made of that."""
    reason = (
        "The validation did not finish in time: what was found could not be dealt with (internal); "
        f"it was at: {validation.step.replace('_', ' ')}."
    )
    found_nothing = validation.model_copy(
        update={
            "online": None,
            "online_graded": None,
            "offline": None,
            "offline_graded": None,
            "repeats": None,
            "regressions": (),
            "conflicts": (),
            "mending": None,
            "control": None,
            "passes_because": None,
            "cause": "deadline",
        }
    )
    left = (clean_up(validation, each) for each in sorted(validation.snapshots))
    return end_inconclusive(found_nothing, reason, now).and_say(*left)


def cancel(validation: Validation, cancelled: Cancelled, now: datetime) -> Decision:
    """End it at once; a verdict that stands stays."""
    if validation.passes_because is not None:
        settled = without_control(validation, Failure.of("internal", cancelled.why), now)
        return finish(settled.validation, now)
    if validation.step == "reporting":
        return finish(validation, now)
    if validation.step == "mending":
        failed = failure_stands(validation, mending.undone(validation, cancelled.why), now)
        said = (each.message for each in failed.outgoing)
        cleanups = (each for each in said if isinstance(each, CleanupRequested))
        return finish(failed.validation, now).and_say(*cleanups)
    at = validation.step.replace("_", " ")
    return end_inconclusive(validation, f"{cancelled.why}; it was at: {at}.", now)
