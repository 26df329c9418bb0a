"""What models may use for each work item: tokens by shares, money for the whole."""

from typing import Final

from assay_contracts.base import Failure
from assay_contracts.validations import ProgressStep
from assay_scorer.domain.ledger import Charge, money_spent
from assay_scorer.domain.validation import Validation
from assay_scorer.domain.work_items import WorkItem, WorkKind

STEPS_WITH_MODELS: Final[tuple[ProgressStep, ...]] = (
    "planning",
    "online_run",
    "online_grading",
    "offline_run",
    "offline_grading",
    "reporting",
)
TOKEN_SHARES: Final = (15, 30, 10, 30, 10, 5)
"""Percent of a validation's tokens set aside for each of these steps."""
SHARES_BESIDE: Final[dict[WorkKind, int]] = {
    "control_run": 30,
    "control_grading": 10,
    "repeat_run": 30,
    "repeat_grading": 10,
    "regression": 30,
    "regression_grading": 10,
    "mending_run": 30,
    "mending_grading": 10,
}
"""Percent of what the steps above may use, and beside it: for the control, for each repeat, and for
each approved skill."""


def tokens_allowed(validation: Validation, item: WorkItem) -> int | None:
    """What the work may use: its share, what steps before it left over, and what money can buy."""
    bounds = (_tokens_set_aside(validation, item), _tokens_affordable(validation))
    return min((bound for bound in bounds if bound is not None), default=None)


def _tokens_set_aside(validation: Validation, item: WorkItem) -> int | None:
    if validation.token_budget is None:
        return None
    if item.what == "mending":
        return 0
    if item.what in SHARES_BESIDE:
        share = validation.token_budget * SHARES_BESIDE[item.what] // 100
        wasted = sum(
            charge.tokens
            for charge in validation.ledger
            if charge.discarded and _shares_budget(charge, item)
        )
        return max(0, share - wasted)
    so_far = sum(TOKEN_SHARES[: STEPS_WITH_MODELS.index(validation.step) + 1])
    spent = sum(charge.tokens for charge in validation.ledger if charge.what not in SHARES_BESIDE)
    return max(0, validation.token_budget * so_far // 100 - spent)


def _shares_budget(charge: Charge, item: WorkItem) -> bool:
    """Whether a failed attempt of the one leaves less for the other: a run and its grading."""
    same_kind = charge.what.removesuffix("_grading").removesuffix("_run") == (
        item.what.removesuffix("_grading").removesuffix("_run")
    )
    return same_kind and charge.key.partition(".")[2] == item.key.partition(".")[2]


def _tokens_affordable(validation: Validation) -> int | None:
    left = money_left(validation)
    return None if left is None else validation.money.tokens_for(left)


def money_left(validation: Validation) -> float | None:
    """None when nothing bounds it."""
    if validation.money.budget is None:
        return None
    return validation.money.budget - money_spent(validation.ledger, validation.money)


def money_is_spent(validation: Validation) -> Failure | None:
    """Why nothing more that costs money may be asked for; None while it may."""
    left = money_left(validation)
    if left is None or left > 0:
        return None
    return Failure.of(
        "budget",
        f"The {validation.money.budget:g} {validation.money.currency} that models may cost for one "
        "validation are spent. Raise ASSAY_VALIDATION_MONEY, or name a cheaper model.",
        costs=(),
    )
