"""What a task's checks show, given what they showed before any work. Pure."""

from collections.abc import Sequence

from assay_contracts.tasks import CheckResult, FileCheck, Task


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


def with_results_before(
    after: Sequence[CheckResult], before: Sequence[CheckResult]
) -> tuple[CheckResult, ...]:
    """The results after the work, each with what it was before if that was looked at."""
    if not before:
        return tuple(after)
    return tuple(
        late.model_copy(update={"passed_before": early.passed})
        for early, late in zip(before, after, strict=True)
    )
