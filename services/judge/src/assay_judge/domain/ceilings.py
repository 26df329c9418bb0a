"""How high a grade may be at most: the one table of rules by which code lowers a grade.

A rule stands on what code saw of the result, so that no text can talk a failed task into a good
grade: a check that failed, a file that is missing, a claim that nothing in the trace bears out. How
an agent got there is nothing to a rule: a command that fails on the way lowers no grade.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from assay_contracts.grades import BEST_GRADE, Lowering
from assay_contracts.runs import Trace
from assay_contracts.tasks import CheckResult, FileCheck, PatternCheck

Fires = Callable[[Trace, Sequence[CheckResult]], bool]


@dataclass(frozen=True, slots=True)
class CeilingRule:
    rule: str
    at_most: int
    reason: str
    fires: Fires


def _every_check_failed(_: Trace, checks: Sequence[CheckResult]) -> bool:
    return bool(checks) and not any(result.passed for result in checks)


def _no_check_shows_work(trace: Trace, checks: Sequence[CheckResult]) -> bool:
    passed = [result for result in checks if result.passed]
    return bool(passed) and not any(_shows_work(result, trace) for result in passed)


def _shows_work(passed: CheckResult, trace: Trace) -> bool:
    check = passed.check
    path = check.path if isinstance(check, FileCheck | PatternCheck) else None
    return not passed.passed_before or path in trace.files_made


def _only_claimed(trace: Trace, checks: Sequence[CheckResult]) -> bool:
    return not checks and not trace.files_made and all(step.failed for step in trace.steps)


def _few_checks_passed(_: Trace, checks: Sequence[CheckResult]) -> bool:
    return sum(result.passed for result in checks) * 2 < len(checks)


def _some_check_failed(_: Trace, checks: Sequence[CheckResult]) -> bool:
    return not all(result.passed for result in checks)


CEILINGS: Final = (
    CeilingRule("every-check-failed", 2, "every check failed", _every_check_failed),
    CeilingRule(
        "no-check-shows-work",
        2,
        "no check that passed had failed before the work",
        _no_check_shows_work,
    ),
    CeilingRule(
        "only-claimed",
        2,
        "nothing was checked, no file was made and no tool call succeeded",
        _only_claimed,
    ),
    CeilingRule("few-checks-passed", 3, "fewer than half of the checks passed", _few_checks_passed),
    CeilingRule("some-check-failed", 4, "some check failed", _some_check_failed),
)
"""From the strictest to the mildest: of several that fire, the first says why."""


def highest_grade(trace: Trace, checks: Sequence[CheckResult]) -> int:
    """The highest grade that what code saw allows."""
    fired = (rule.at_most for rule in CEILINGS if rule.fires(trace, checks))
    return min(fired, default=BEST_GRADE)


def lowerings(grade: int, trace: Trace, checks: Sequence[CheckResult]) -> tuple[Lowering, ...]:
    """The rules that lower this grade the most; none when it may stay as it is."""
    highest = highest_grade(trace, checks)
    if grade <= highest:
        return ()
    first = next(rule for rule in CEILINGS if rule.at_most == highest and rule.fires(trace, checks))
    return (Lowering(rule=first.rule, at_most=first.at_most, reason=first.reason),)
