"""Whether a task's checks can tell work that was done from work that was not. Pure."""

from collections.abc import Sequence

from assay_contracts.tasks import CheckResult, CheckTrial, FileCheck, Task
from assay_contracts.workbench import ChecksTried


def trial_problems(task: Task, tried: ChecksTried) -> list[str]:
    """What the trial of the checks shows to be wrong with them, in words their author can use."""
    problems = [
        f"Check {number} ({result.check.kind}) fails on your own reference: {result.detail[:600]}"
        for number, result in enumerate(tried.on_reference, start=1)
        if not result.passed
    ]
    if not tells_apart(task, tried.on_inputs, tried.on_reference):
        problems.append(
            "No check fails on the input files alone and passes on right work, so passing them "
            "would show nothing. Check for what only right work gives."
        )
    return problems


def tells_apart(
    task: Task, on_inputs: Sequence[CheckResult], on_reference: Sequence[CheckResult]
) -> bool:
    """Whether some check fails on the inputs alone and, where that is known, passes on right work.

    A check on an input file that is to be changed may pass on both: that it was is seen elsewhere.
    """
    given = {file.path for file in task.files}
    right = [result.passed for result in on_reference] or [True] * len(on_inputs)
    return any(
        passes
        and (
            not before.passed
            or (isinstance(before.check, FileCheck) and before.check.path in given)
        )
        for before, passes in zip(on_inputs, right, strict=True)
    )


def without_wrong_checks(task: Task, tried: ChecksTried) -> tuple[Task, ChecksTried]:
    """The task and its trial without the checks that fail on right work."""
    if not tried.on_reference:
        return task, tried
    right = [result.passed for result in tried.on_reference]
    kept = ChecksTried(
        on_inputs=_where(tried.on_inputs, right), on_reference=_where(tried.on_reference, right)
    )
    checks = tuple(result.check for result in kept.on_inputs)
    return task.model_copy(update={"checks": checks}), kept


def with_trials(task: Task, tried: ChecksTried) -> Task:
    """The task, each of its checks with how it fared."""
    on_reference = [result.passed for result in tried.on_reference]
    trials = tuple(
        CheckTrial(
            passes_on_inputs=result.passed,
            passes_on_reference=on_reference[place] if on_reference else None,
        )
        for place, result in enumerate(tried.on_inputs)
    )
    return task.model_copy(update={"trials": trials})


def _where(results: Sequence[CheckResult], keep: Sequence[bool]) -> tuple[CheckResult, ...]:
    return tuple(result for result, kept in zip(results, keep, strict=True) if kept)
