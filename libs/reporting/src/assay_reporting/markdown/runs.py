"""The online and the offline run: the sandbox, then every task with its grade and its evidence."""

from collections.abc import Iterator

from assay_contracts.attribution import Attribution
from assay_contracts.grades import ContestedCheck, Grade
from assay_contracts.obstacles import Obstacle
from assay_contracts.reports import Report, RunReport
from assay_contracts.runs import Installation, TaskOutcome
from assay_contracts.tasks import CheckResult
from assay_reporting.markdown.layout import bullets
from assay_reporting.markdown.packages import packages_listed
from assay_reporting.text import quoted
from assay_reporting.view import (
    commands_text,
    counted_text,
    grade_of,
    grade_title,
    part_text,
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
    if run.installations:
        yield f"**Declared and installed first:**\n\n{bullets(map(_installed, run.installations))}"
    for outcome in run.outcomes:
        grade = grade_of(run, outcome.task_id)
        counted = counted_text(run, outcome, grade)
        yield f"### {outcome.task_id}: {grade_title(grade)}{f', {counted}' if counted else ''}"
        yield f"**Asked:** {quoted(prompt_of(report, outcome.task_id), 600)}"
        if outcome.attribution is not None:
            yield from _part(outcome, outcome.attribution)
        yield from _work(outcome)
        yield from _judgement(outcome, grade)


def _part(outcome: TaskOutcome, attribution: Attribution) -> Iterator[str]:
    yield f"**Attribution:** {part_text(outcome, '')}"
    if attribution.programs:
        yield bullets(
            f"{quoted(run.program)} {run.ended}: {quoted(run.command, 200)}"
            + (f" ({quoted(run.error, 300)})" if run.error else "")
            for run in attribution.programs
        )


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
    if outcome.obstacles:
        yield f"**Stood in the way:**\n\n{bullets(map(_obstacle, outcome.obstacles))}"


def _obstacle(obstacle: Obstacle) -> str:
    kind = obstacle.kind.replace("_", " ")
    return (
        f"{kind}: {quoted(obstacle.what)} ({quoted(obstacle.observed, 300)}). "
        f"{quoted(obstacle.advice, 300)}"
    )


def _installed(installation: Installation) -> str:
    named = ", ".join(quoted(each) for each in installation.requirements)
    declared = ", ".join(quoted(each) for each in installation.declared_in) or "the skill"
    ended = f"{installation.ecosystem} {named}, from {declared}: {installation.seconds:.1f} s"
    if installation.failure is None:
        return ended
    return f"{ended}, **failed** ({installation.cause}): {quoted(installation.failure, 500)}"


def _judgement(outcome: TaskOutcome, grade: Grade | None) -> Iterator[str]:
    if grade is not None:
        yield f"**Why:** {quoted(grade.reasons, 1000)}{_spread(grade)}"
        if grade.lowered_by:
            yield _lowered(grade)
        yield bullets(
            f"{quoted(each.source)}: {quoted(each.quote, 400)}" for each in grade.evidence
        )
    if outcome.checks:
        contests = {each.check: each for each in grade.contested_checks} if grade else {}
        checks = enumerate(outcome.checks, start=1)
        listed = bullets(_check(check, contests.get(number)) for number, check in checks)
        yield f"**Checks:**\n\n{listed}"
    if outcome.answer:
        yield f"**The agent said:** {quoted(outcome.answer, 400)}"


def _spread(grade: Grade) -> str:
    if not grade.samples:
        return ""
    listed = ", ".join(map(str, grade.samples))
    return f" (median of {listed}; spread {max(grade.samples) - min(grade.samples)})"


def _lowered(grade: Grade) -> str:
    """A box of its own: what the judge gave, and the rules by which code lowered it."""
    head = f"> **Lowered by code** from the judge's {grade.judge_grade} to {grade.grade}:"
    rules = (
        f"> {quoted(each.reason)} (rule `{each.rule}`, at most {each.at_most})"
        for each in grade.lowered_by
    )
    return "\n>\n".join((head, *rules))


def _check(result: CheckResult, contest: ContestedCheck | None) -> str:
    mark = "passed" if result.passed else "**failed**"
    before = ", as it did before the work" if result.passed and result.passed_before else ""
    said = f"{result.check.kind} {mark}{before}: {quoted(result.detail, 300)}"
    return said if contest is None else f"{said} {_contested(contest)}"


def _contested(contest: ContestedCheck) -> str:
    counts = (
        "left out, for it fails on a right result too" if contest.left_out else "it still counts"
    )
    return f"**Contested by the judge** ({counts}): {quoted(contest.reason, 300)}"
