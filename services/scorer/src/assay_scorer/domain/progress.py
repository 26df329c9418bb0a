"""How far along a validation is: as a number for a bar, and as live progress."""

from typing import Final, get_args

from assay_contracts.validations import ProgressStep, ValidationProgressed
from assay_scorer.domain.validation import Validation

STEPS: Final[tuple[ProgressStep, ...]] = get_args(ProgressStep)
RUNS: Final = ("online_run", "offline_run", "regression")
SHOWN_LIVE: Final = 500
"""Characters of a reason that live progress has room for."""


def fraction_done(step: ProgressStep | None, tasks_done: int, tasks_total: int) -> float:
    """0 to 1: steps behind us, and the share of tasks done in the run under way."""
    if step is None:
        return 0.0
    within = tasks_done / tasks_total if step in RUNS and tasks_total else 0.0
    return round(min(1.0, (STEPS.index(step) + within) / (len(STEPS) - 1)), 3)


def progress_of(validation: Validation) -> ValidationProgressed:
    """What those who listen are told."""
    return ValidationProgressed(
        validation_id=validation.validation_id,
        skill_id=validation.skill_id,
        step=validation.step,
        detail=(validation.reason or validation.step.replace("_", " "))[:SHOWN_LIVE],
        tasks_done=validation.tasks_done,
        tasks_total=validation.tasks_total,
    )
