"""What a task's checks show, given what they showed before any work. Pure."""

from collections.abc import Sequence

from assay_contracts.tasks import CheckResult, CheckTrial, FileCheck, Task


def prove_nothing(task: Task, before: Sequence[CheckResult]) -> bool:
    """Whether every check of the task passes before any work, and none is on a file to be changed.

    Args:
        task: As planned.
        before: Its checks' results on nothing but its input files.
    """
    given = {file.path for file in task.files}
    return bool(before) and all(
        result.passed and not (isinstance(result.check, FileCheck) and result.check.path in given)
        for result in before
    )


def as_trials(before: Sequence[CheckResult]) -> tuple[CheckTrial, ...]:
    """What results on nothing but the input files say of their checks."""
    return tuple(CheckTrial(passes_on_inputs=result.passed) for result in before)


def with_trials(
    after: Sequence[CheckResult], trials: Sequence[CheckTrial]
) -> tuple[CheckResult, ...]:
    """The results after the work, each with how its check fared when it was tried, if it was."""
    if not trials:
        return tuple(after)
    return tuple(
        late.model_copy(
            update={
                "passed_before": trial.passes_on_inputs,
                "passed_on_reference": trial.passes_on_reference,
            }
        )
        for trial, late in zip(trials, after, strict=True)
    )
