"""The online and the offline run: the sandbox, then every task with its grade and its evidence."""

from collections.abc import Iterator

from assay_contracts.attribution import Attribution
from assay_contracts.grades import ContestedCheck, Grade
from assay_contracts.obstacles import Obstacle
from assay_contracts.reports import Report, RunReport
from assay_contracts.runs import Installation, TaskOutcome
from assay_contracts.tasks import CheckResult
from assay_reporting.language import phrase
from assay_reporting.markdown.layout import bullets
from assay_reporting.markdown.packages import packages_listed
from assay_reporting.markdown.sealed import sealed
from assay_reporting.text import quoted
from assay_reporting.view import (
    commands_text,
    counted_text,
    grade_of,
    grade_title,
    part_text,
    run_title,
    seconds_text,
)


def runs(report: Report) -> str:
    return "\n\n".join(part for run in report.runs for part in _run(run))


def _run(run: RunReport) -> Iterator[str]:
    yield f"## {run_title(run).capitalize()}"
    if run.sandbox is not None:
        yield phrase(
            "Sandbox: {kind}, from {base}, network {network}. Proof: {proof}",
            kind=run.sandbox.kind,
            base=quoted(run.sandbox.base),
            network=phrase(run.sandbox.network),
            proof=quoted(run.sandbox.proof, 500),
        )
        yield phrase(
            "Packages installed: {before} before, {after} after. Added: {added}.",
            before=run.packages_before,
            after=run.packages_after,
            added=packages_listed(run.packages_added),
        )
    if run.installations:
        listed = bullets(map(_installed, run.installations))
        yield f"{phrase('**Declared and installed first:**')}\n\n{listed}"
    if run.sealed is not None:
        yield from sealed(run.sealed)
    for outcome in run.outcomes:
        grade = grade_of(run, outcome.task_id)
        counted = counted_text(run, outcome, grade)
        yield f"### {outcome.task_id}: {grade_title(grade)}{f', {counted}' if counted else ''}"
        if outcome.attribution is not None:
            yield from _part(outcome, outcome.attribution)
        yield from _work(outcome)
        yield from _judgement(outcome, grade)


def _part(outcome: TaskOutcome, attribution: Attribution) -> Iterator[str]:
    yield phrase("**Attribution:** {part}", part=part_text(outcome, ""))
    if attribution.programs:
        yield bullets(
            f"{quoted(run.program)} {phrase(run.ended)}: {quoted(run.command, 200)}"
            + (f" ({quoted(run.error, 300)})" if run.error else "")
            for run in attribution.programs
        )


def _work(outcome: TaskOutcome) -> Iterator[str]:
    used = ", ".join(dict.fromkeys(quoted(use.skill) for use in outcome.skills_used))
    yield phrase(
        "**Skills used:** {skills} · {commands} · {seconds}",
        skills=used or phrase("none"),
        commands=commands_text(outcome),
        seconds=seconds_text(outcome.seconds),
    )
    if outcome.skills_used:
        yield bullets(
            f"{quoted(use.skill)} ({phrase(use.kind)}): {quoted(use.evidence, 200)}"
            for use in outcome.skills_used
        )
    if outcome.actions:
        listed = bullets(quoted(action, 250) for action in outcome.actions)
        yield f"{phrase('**Done:**')}\n\n{listed}"
    if outcome.files_made:
        paths = ", ".join(quoted(path, 100) for path in outcome.files_made)
        yield phrase("**Files made:** {paths}", paths=paths)
    if outcome.bounds_hit:
        yield phrase("**Bounds hit:** {bounds}", bounds=", ".join(map(phrase, outcome.bounds_hit)))
    if outcome.obstacles:
        listed = bullets(map(_obstacle, outcome.obstacles))
        yield f"{phrase('**Stood in the way:**')}\n\n{listed}"


def _obstacle(obstacle: Obstacle) -> str:
    kind = phrase(obstacle.kind.replace("_", " "))
    return (
        f"{kind}: {quoted(obstacle.what)} ({quoted(obstacle.observed, 300)}). "
        f"{quoted(obstacle.advice, 300)}"
    )


def _installed(installation: Installation) -> str:
    named = ", ".join(quoted(each) for each in installation.requirements)
    declared = ", ".join(quoted(each) for each in installation.declared_in)
    ended = phrase(
        "{ecosystem} {packages}, from {declared}: {seconds}",
        ecosystem=installation.ecosystem,
        packages=named,
        declared=declared or phrase("the skill"),
        seconds=seconds_text(installation.seconds),
    )
    if installation.failure is None:
        return ended
    failed = f"**{phrase('failed')}** ({installation.cause})"
    return f"{ended}, {failed}: {quoted(installation.failure, 500)}"


def _judgement(outcome: TaskOutcome, grade: Grade | None) -> Iterator[str]:
    if grade is not None:
        yield f"{phrase('**Why:** {why}', why=quoted(grade.reasons, 1000))}{_spread(grade)}"
        if grade.lowered_by:
            yield _lowered(grade)
        yield bullets(
            f"{quoted(each.source)}: {quoted(each.quote, 400)}" for each in grade.evidence
        )
    if outcome.checks:
        contests = {each.check: each for each in grade.contested_checks} if grade else {}
        checks = enumerate(outcome.checks, start=1)
        listed = bullets(_check(check, contests.get(number)) for number, check in checks)
        yield f"{phrase('**Checks:**')}\n\n{listed}"
    if outcome.answer:
        yield phrase("**The agent said:** {answer}", answer=quoted(outcome.answer, 400))


def _spread(grade: Grade) -> str:
    if not grade.samples:
        return ""
    said = phrase(
        "(median of {grades}; spread {spread})",
        grades=", ".join(map(str, grade.samples)),
        spread=max(grade.samples) - min(grade.samples),
    )
    return f" {said}"


def _lowered(grade: Grade) -> str:
    """A box of its own: what the judge gave, and the rules by which code lowered it."""
    head = phrase(
        "**Lowered by code** from the judge's {own} to {grade}:",
        own=grade.judge_grade,
        grade=grade.grade,
    )
    rules = (
        phrase(
            "{reason} (rule `{rule}`, at most {most})",
            reason=quoted(each.reason),
            rule=each.rule,
            most=each.at_most,
        )
        for each in grade.lowered_by
    )
    return "\n>\n".join(f"> {line}" for line in (head, *rules))


def _check(result: CheckResult, contest: ContestedCheck | None) -> str:
    mark = phrase("passed") if result.passed else f"**{phrase('failed')}**"
    if result.passed and result.passed_before:
        mark = phrase("{passed}, as it did before the work", passed=mark)
    said = f"{phrase(result.check.kind)} {mark}: {quoted(result.detail, 300)}"
    return said if contest is None else f"{said} {_contested(contest)}"


def _contested(contest: ContestedCheck) -> str:
    counts = (
        phrase("left out, for it fails on a right result too")
        if contest.left_out
        else phrase("it still counts")
    )
    return phrase(
        "**Contested by the judge** ({counts}): {why}",
        counts=counts,
        why=quoted(contest.reason, 300),
    )
