"""The online and the offline run: the sandbox, then every task with its grade and its evidence."""

from collections.abc import Iterator

from assay_contracts.grades import Grade
from assay_contracts.reports import Report, RunReport
from assay_contracts.runs import TaskOutcome
from assay_contracts.tasks import CheckResult
from assay_reporting.markdown.layout import bullets
from assay_reporting.markdown.packages import packages_listed
from assay_reporting.text import quoted
from assay_reporting.view import (
    commands_text,
    grade_of,
    grade_title,
    prompt_of,
    run_title,
    seconds_text,
)


def runs(report: Report) -> str:
    return "\n\n".join(part for run in report.runs for part in _run(report, run))


def _run(report: Report, run: RunReport) -> Iterator[str]:
    yield f"## {run_title(run).capitalize()}"
    if run.sandbox is not None:
        yield (
            f"Sandbox: {run.sandbox.kind}, from {quoted(run.sandbox.base)}, network "
            f"{run.sandbox.network}. Proof: {quoted(run.sandbox.proof, 500)}"
        )
        yield (
            f"Packages installed: {run.packages_before} before, {run.packages_after} after. "
            f"Added: {packages_listed(run.packages_added)}."
        )
    for outcome in run.outcomes:
        grade = grade_of(run, outcome.task_id)
        yield f"### {outcome.task_id}: {grade_title(grade)}"
        yield f"**Asked:** {quoted(prompt_of(report, outcome.task_id), 600)}"
        yield from _work(outcome)
        yield from _judgement(outcome, grade)


def _work(outcome: TaskOutcome) -> Iterator[str]:
    used = ", ".join(dict.fromkeys(quoted(use.skill) for use in outcome.skills_used)) or "none"
    yield f"**Skills used:** {used} · {commands_text(outcome)} · {seconds_text(outcome.seconds)}"
    if outcome.skills_used:
        yield bullets(
            f"{quoted(use.skill)} ({use.kind}): {quoted(use.evidence, 200)}"
            for use in outcome.skills_used
        )
    if outcome.actions:
        yield f"**Done:**\n\n{bullets(quoted(action, 250) for action in outcome.actions)}"
    if outcome.files_made:
        yield f"**Files made:** {', '.join(quoted(path, 100) for path in outcome.files_made)}"
    if outcome.bounds_hit:
        yield f"**Bounds hit:** {', '.join(outcome.bounds_hit)}"


def _judgement(outcome: TaskOutcome, grade: Grade | None) -> Iterator[str]:
    if grade is not None:
        yield f"**Why:** {quoted(grade.reasons, 1000)}{_spread(grade)}"
        yield bullets(
            f"{quoted(each.source)}: {quoted(each.quote, 400)}" for each in grade.evidence
        )
    if outcome.checks:
        yield f"**Checks:**\n\n{bullets(_check(check) for check in outcome.checks)}"
    if outcome.answer:
        yield f"**The agent said:** {quoted(outcome.answer, 400)}"


def _spread(grade: Grade) -> str:
    if not grade.samples:
        return ""
    listed = ", ".join(map(str, grade.samples))
    return f" (median of {listed}; spread {max(grade.samples) - min(grade.samples)})"


def _check(result: CheckResult) -> str:
    mark = "passed" if result.passed else "**failed**"
    before = ", as it did before the work" if result.passed and result.passed_before else ""
    return f"{result.check.kind} {mark}{before}: {quoted(result.detail, 300)}"
