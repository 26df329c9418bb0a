"""How far along a validation is, as a number for a bar."""

from typing import Final, get_args

from assay_contracts.validations import ProgressStep

STEPS: Final[tuple[ProgressStep, ...]] = get_args(ProgressStep)
RUNS: Final = ("online_run", "offline_run", "regression")


def fraction_done(step: ProgressStep | None, tasks_done: int, tasks_total: int) -> float:
    """0 to 1: steps behind us, and the share of tasks done in the run under way."""
    if step is None:
        return 0.0
    within = tasks_done / tasks_total if step in RUNS and tasks_total else 0.0
    return round(min(1.0, (STEPS.index(step) + within) / (len(STEPS) - 1)), 3)
