"""Charging a validation with what is said about its work, once for each attempt."""

from typing import get_args

from assay_scorer.domain.inputs import ConductorInput, WentQuiet, WorkerResult
from assay_scorer.domain.ledger import charge_of, entered
from assay_scorer.domain.validation import Validation
from assay_scorer.domain.work_items import WorkItem, item_of


def charged(validation: Validation, given: ConductorInput) -> Validation:
    """With what this attempt cost, whether or not its result will be taken."""
    if validation.step == "done":
        return validation
    if isinstance(given, WentQuiet):
        item = validation.open_item(given.step_id)
        if item is None or item.attempt != given.attempt:
            return validation
        return _with(validation, item, given, taken=False)
    if not isinstance(given, get_args(WorkerResult)):
        return validation
    item = validation.open_item(given.step_id)
    taken = item is not None and given.failure is None
    item = item or _no_longer_open(validation, given.step_id)
    return validation if item is None else _with(validation, item, given, taken=taken)


def _with(
    validation: Validation, item: WorkItem, given: WorkerResult | WentQuiet, *, taken: bool
) -> Validation:
    charge = charge_of(item, given, taken=taken)
    return validation.model_copy(update={"ledger": entered(validation.ledger, charge)})


def _no_longer_open(validation: Validation, step_id: str) -> WorkItem | None:
    """What a late result is about; None when that was never asked for."""
    asked_for = {f"{validation.validation_id}.{each.key}": each.key for each in validation.ledger}
    return item_of(asked_for[step_id]) if step_id in asked_for else None
