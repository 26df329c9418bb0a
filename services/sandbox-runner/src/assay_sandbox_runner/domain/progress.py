"""How far a run has come, as it is told to whoever waits for the validation. Pure."""

from typing import Final

from assay_contracts.runs import RunKind, RunRequested
from assay_contracts.validations import ProgressStep, ValidationProgressed

_STEPS: Final[dict[RunKind, ProgressStep]] = {"online": "online_run", "offline": "offline_run"}
"""Other runs are some of many; the scorer tells how many of those are done."""


def progress_of(
    request: RunRequested, detail: str, *, tasks_done: int
) -> ValidationProgressed | None:
    """What to tell of a run that is under way; None for a run that is not told of."""
    step = _STEPS.get(request.kind)
    is_repeat = ".repeat_run." in request.step_id
    if step is None or is_repeat:
        return None
    return ValidationProgressed(
        validation_id=request.validation_id,
        skill_id=request.skill_id,
        step=step,
        detail=detail,
        tasks_done=tasks_done,
        tasks_total=len(request.tasks),
    )
