"""What the conductor decides, and the few moves that every decision is made of."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from assay_contracts.base import Message
from assay_contracts.validations import ProgressStep, Verdict
from assay_scorer.domain.ledger import entered, lost
from assay_scorer.domain.report import completion_of
from assay_scorer.domain.validation import Validation
from assay_scorer.domain.work import clean_up, work_for
from assay_scorer.domain.work_items import WorkItem

REPORT_LIMIT: Final = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message to say once the decision is stored."""

    message: Message
    delay: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True)
class Decision:
    validation: Validation
    outgoing: tuple[Outgoing, ...] = ()

    def and_say(self, *messages: Message) -> "Decision":
        """The same, with more to say."""
        more = (Outgoing(message) for message in messages)
        return Decision(self.validation, (*self.outgoing, *more))


def enter(validation: Validation, step: ProgressStep, now: datetime) -> Decision:
    """Go on to this step, and ask for its work."""
    item = WorkItem(what=step, lane=validation.lane)
    changes: dict[str, object] = {"step": step, "pieces": (item, *validation.control_items)}
    if step == "reporting":
        # The verdict stands: prose gets a little time of its own, whatever is left of the rest.
        changes["deadline"] = now + REPORT_LIMIT
        changes["pieces"] = (item,)
    if step == "mending":
        # As long again: every approved skill is tested again, and the one under test with them.
        changes["deadline"] = now + validation.limit
    left = validation.pieces if step == "reporting" else validation.awaited
    asked = dropping(validation, left).model_copy(update=changes)
    return Decision(asked).and_say(work_for(asked, item))


def ask_again(validation: Validation, item: WorkItem, delay: timedelta) -> Decision:
    """Ask for the same work once more, after some time."""
    again = item.model_copy(update={"attempt": item.attempt + 1})
    asked = with_items(validation, item, (again,))
    return Decision(asked, (Outgoing(work_for(asked, again), delay),))


def with_items(
    validation: Validation, answered: WorkItem, instead: tuple[WorkItem, ...] = ()
) -> Validation:
    """What it waits for once an item is answered: the others, and these instead of it."""
    others = tuple(each for each in validation.pieces if each.key != answered.key)
    without = dropping(validation, (answered,))
    return without.model_copy(update={"pieces": (*others, *instead)})


def dropping(validation: Validation, items: Iterable[WorkItem]) -> Validation:
    """With a charge for each of these items that nobody has said the cost of, and may never."""
    ledger = validation.ledger
    for item in items:
        ledger = entered(ledger, lost(item))
    return validation.model_copy(update={"ledger": ledger})


def conclude(validation: Validation, verdict: Verdict, reason: str, now: datetime) -> Decision:
    """The verdict stands; what is left is the report.

    Where a lift is demanded, a skill that would pass waits for its control first.
    """
    if verdict == "passed" and validation.min_lift is not None and not validation.is_full_test:
        if validation.control_items:
            waiting = {"passes_because": reason, "pieces": validation.control_items}
            return Decision(validation.model_copy(update=waiting))
        verdict, reason = lift_verdict(validation, reason, validation.min_lift)
    return _settle(validation, verdict, reason, now)


def lift_verdict(validation: Validation, reason: str, least: float) -> tuple[Verdict, str]:
    """What the demanded lift makes of a skill that would pass for that reason."""
    if validation.control is None:
        return "inconclusive", f"A lift of {least:g} is demanded, and there was no control."
    found = validation.control.compared_with(validation.online_graded)
    if found.lift is None:
        return (
            "inconclusive",
            f"A lift of {least:g} is demanded, and there was no control: {found.missing}",
        )
    if found.lift < least:
        below = (
            f"But it lifts grades by {found.lift:g} over the same tasks without it, below the "
            f"{least:g} that is demanded."
        )
        return "failed", f"{reason} {below}"
    return "passed", f"{reason} It lifts grades by {found.lift:g}."


def _settle(validation: Validation, verdict: Verdict, reason: str, now: datetime) -> Decision:
    concluded = validation.model_copy(
        update={
            "verdict": verdict,
            "reason": reason,
            "completed_at": now,
            "passes_because": None,
        }
    )
    return enter(concluded, "reporting", now)


def end_inconclusive(validation: Validation, reason: str, now: datetime) -> Decision:
    """End it at once, without a score."""
    ended = validation.model_copy(
        update={"verdict": "inconclusive", "reason": reason, "completed_at": now, "scores": None}
    )
    return finish(ended, now)


def finish(validation: Validation, now: datetime) -> Decision:
    """End it with the verdict it has; its candidate goes, unless it waits for review."""
    finished = dropping(validation, validation.pieces).model_copy(
        update={"step": "done", "pieces": (), "completed_at": now}
    )
    decision = Decision(finished).and_say(completion_of(finished))
    waits_for_review = finished.verdict == "passed" and not finished.is_full_test
    if finished.candidate is None or waits_for_review:
        return decision
    return decision.and_say(clean_up(finished, finished.candidate))
