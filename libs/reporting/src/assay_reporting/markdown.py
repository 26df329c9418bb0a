"""The report as Markdown, made from its data. Pure.

Numbers come from code; words from skills, sandboxes and models are quoted so that they stay words.
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Final

from assay_contracts.grades import Grade
from assay_contracts.reports import (
    DependencyConflict,
    InstalledPackage,
    MendingReport,
    RegressionReport,
    Report,
    RunReport,
)
from assay_contracts.runs import NetworkCall, Package, TaskOutcome, network_calls_attempted
from assay_contracts.scores import DIMENSIONS, OFFLINE_PASS_MARK, OVERALL_PASS_MARK, Scores
from assay_contracts.skills import Dependencies, Finding
from assay_contracts.tasks import CheckResult, Task

REHEARSAL: Final = "rehearsal:"
LISTED_CALLS: Final = 50


def render_markdown(report: Report) -> str:
    """The report for a person: verdict first, then numbers, then the evidence."""
    sections = (
        _head(report),
        _score_card(report.scores),
        _prose(report),
        *(_run(report, run) for run in report.runs),
        _layer2(report),
        _offline_findings(report),
        _dependencies(report),
        _findings(report),
        _costs(report),
    )
    return "\n\n".join(section for section in sections if section) + "\n"


def quoted(text: str, limit: int = 300) -> str:
    """Text from a skill or a sandbox, made harmless: one line, all visible, no markup, bounded."""
    line = " ".join(text.split())
    line = "".join(sign if sign.isprintable() else "\ufffd" for sign in line)
    line = line if len(line) <= limit else f"{line[: limit - 1]}…"
    for mark in "\\`*_{}[]<>#|!~":
        line = line.replace(mark, f"\\{mark}")
    return line


def _head(report: Report) -> str:
    took = _seconds(report.completed_at - (report.started_at or report.queued_at))
    return (
        f"# {report.verdict.upper()}: {quoted(report.skill_name)} (revision {report.revision})\n\n"
        f"{quoted(report.reason, 2000)}\n\n"
        f"Validation `{report.validation_id}` · bundle `{report.bundle_sha256[:12]}` · "
        f"{report.completed_at:%Y-%m-%d %H:%M:%S} UTC · {took}"
    )


def _score_card(scores: Scores | None) -> str:
    if scores is None:
        return "## Score\n\nNone: the platform failed before the skill could be judged."
    offline = "not run" if scores.offline is None else f"{scores.offline:.1f}"
    if scores.offline is not None and scores.offline < OFFLINE_PASS_MARK:
        offline += f" (fit to work offline from {OFFLINE_PASS_MARK:g})"
    completion_weight, trigger_weight, offline_weight = (each.weight for each in DIMENSIONS)
    return (
        "## Score\n\n"
        "| dimension | weight | score |\n|---|---:|---:|\n"
        f"| completion | {completion_weight}% | {scores.completion:.1f} |\n"
        f"| trigger | {trigger_weight}% | {scores.trigger:.1f} |\n"
        f"| offline | {offline_weight}% | {offline} |\n"
        f"| **overall** | pass at {OVERALL_PASS_MARK:g} | **{scores.overall:.1f}** |"
    )


def _prose(report: Report) -> str:
    if report.prose is None:
        return (
            "_No summary: the report writer did not answer, so this report is made from the data "
            "alone._"
            if report.scores is not None
            else ""
        )
    parts = [f"## Summary\n\n{quoted(report.prose.summary, 500)}"]
    for title, lines in (
        ("Strengths", report.prose.strengths),
        ("Weaknesses", report.prose.weaknesses),
        ("Recommendations", report.prose.recommendations),
    ):
        if lines:
            parts.append(f"### {title}\n\n{_listed(quoted(line, 500) for line in lines)}")
    return "\n\n".join(parts)


# -- runs and tasks -----------------------------------------------------------------------------


def _run(report: Report, run: RunReport) -> str:
    parts = [f"## {run.kind.capitalize()} run"]
    if run.sandbox is not None:
        parts.append(
            f"Sandbox: {run.sandbox.kind}, from {quoted(run.sandbox.base)}, network "
            f"{run.sandbox.network}. Proof: {quoted(run.sandbox.proof, 500)}"
        )
        parts.append(
            f"Packages installed: {run.packages_before} before, {run.packages_after} after. "
            f"Added: {_packages(run.packages_added)}."
        )
    tasks = {task.task_id: task for task in report.tasks}
    parts += [_task(tasks[outcome.task_id], outcome, run) for outcome in run.outcomes]
    return "\n\n".join(parts)


def _layer2(report: Report) -> str:
    if not report.regressions:
        return ""
    rows = "\n".join(_regression_row(each) for each in report.regressions)
    failed = "\n".join(
        f"- **{quoted(each.skill_name)}** {task.task_id}: {quoted(task.reasons, 500)}"
        for each in report.regressions
        for task in each.tasks
        if not task.completed
    )
    causes = "\n".join(line for each in report.regressions for line in _explained(each))
    return (
        f"## Approved skills on this environment\n\nBuilt on {report.runtime_version}.\n\n"
        f"| skill | result | grades (before) |\n|---|---|---|\n{rows}"
        + "".join(f"\n\n{part}" for part in (failed, causes) if part)
    )


def _explained(regression: RegressionReport) -> Iterable[str]:
    for change in regression.explained_by:
        yield (
            f"- **{quoted(regression.skill_name)}** declares {quoted(change.package)}, which went "
            f"from {quoted(change.old_version)} to {quoted(change.new_version or 'nothing')}; used "
            f"by {quoted(', '.join(change.used_by))}. "
            f"Suggested: {quoted(change.suggested_constraint)}"
        )


def _regression_row(regression: RegressionReport) -> str:
    grades = ", ".join(
        f"{task.task_id} {task.grade} ({task.grade_before or '–'})" for task in regression.tasks
    )
    result = "passed" if regression.passed else "**failed**"
    return f"| {quoted(regression.skill_name)} | {result} | {grades} |"


def _task(task: Task, outcome: TaskOutcome, run: RunReport) -> str:
    grade = _grade_of(run, outcome.task_id)
    used = ", ".join(dict.fromkeys(quoted(use.skill) for use in outcome.skills_used)) or "none"
    lines = [
        f"### {task.task_id}: {f'grade {grade.grade} of 5' if grade else 'not graded'}",
        f"**Asked:** {quoted(task.prompt, 600)}",
        f"**Skills used:** {used} · {outcome.commands} commands · {outcome.seconds:.1f} s",
    ]
    if outcome.skills_used:
        lines.append(
            _listed(
                f"{quoted(use.skill)} ({use.kind}): {quoted(use.evidence, 200)}"
                for use in outcome.skills_used
            )
        )
    if outcome.actions:
        lines.append(f"**Done:**\n\n{_listed(quoted(action, 250) for action in outcome.actions)}")
    if outcome.files_made:
        made = ", ".join(quoted(path, 100) for path in outcome.files_made)
        lines.append(f"**Files made:** {made}")
    if outcome.bounds_hit:
        lines.append(f"**Bounds hit:** {', '.join(outcome.bounds_hit)}")
    if grade:
        lines.append(f"**Why:** {quoted(grade.reasons, 1000)}{_spread(grade)}")
        lines.append(_listed(f"{quoted(e.source)}: {quoted(e.quote, 400)}" for e in grade.evidence))
    if outcome.checks:
        lines.append(f"**Checks:**\n\n{_listed(_check(check) for check in outcome.checks)}")
    if outcome.answer:
        lines.append(f"**The agent said:** {quoted(outcome.answer, 400)}")
    return "\n\n".join(lines)


def _spread(grade: Grade) -> str:
    if not grade.samples:
        return ""
    listed = ", ".join(map(str, grade.samples))
    return f" (median of {listed}; spread {max(grade.samples) - min(grade.samples)})"


def _check(result: CheckResult) -> str:
    mark = "passed" if result.passed else "**failed**"
    before = ", as it did before the work" if result.passed and result.passed_before else ""
    return f"{result.check.kind} {mark}{before}: {quoted(result.detail, 300)}"


def _grade_of(run: RunReport, task_id: str) -> Grade | None:
    return next((grade for grade in run.grades if grade.task_id == task_id), None)


# -- what the offline run showed ----------------------------------------------------------------


def _offline_findings(report: Report) -> str:
    online = next((run for run in report.runs if run.kind == "online"), None)
    offline = next((run for run in report.runs if run.kind == "offline"), None)
    if offline is None:
        return ""
    parts = ["## Offline findings"]
    if online is not None:
        parts.append(_compared(online, offline))
    parts.append(_network(offline))
    return "\n\n".join(parts)


def _compared(online: RunReport, offline: RunReport) -> str:
    worse = [
        f"{grade.task_id} ({before.grade} online, {grade.grade} offline)"
        for grade in offline.grades
        if (before := _grade_of(online, grade.task_id)) and grade.grade < before.grade
    ]
    if not worse:
        return "Every task was done as well without a network as with one."
    return f"Done worse without a network: {', '.join(worse)}."


def _network(run: RunReport) -> str:
    how = f"Counted by: {quoted(run.sandbox.observation, 300)}" if run.sandbox else ""
    if not run.network_calls:
        return f"**Network calls attempted:** none. {how}".rstrip()
    rows = "\n".join(_call(call) for call in run.network_calls[:LISTED_CALLS])
    total = network_calls_attempted(run)
    more = total - min(LISTED_CALLS, len(run.network_calls))
    rest = f"\n\nand {more} more." if more else ""
    return (
        f"**Network calls attempted:** {total}. {how}\n\n"
        f"| when | task | to | by |\n|---|---|---|---|\n{rows}{rest}"
    )


def _call(call: NetworkCall) -> str:
    return (
        f"| {call.at:%H:%M:%S} | {call.task_id or '–'} | {quoted(call.destination, 100)} "
        f"| {quoted(call.command, 120)} |"
    )


# -- dependencies, format, costs ----------------------------------------------------------------


def _dependencies(report: Report) -> str:
    found = report.dependency_report
    if found is None:
        return f"## Dependencies\n\nDeclared: {_requirements(report.dependencies)}."
    lines = [f"Checked: {found.mode}. Declared: {_requirements(report.dependencies)}."]
    if not found.installed:
        lines.append("Nothing was installed while the tasks were done.")
    else:
        rows = "\n".join(_installed_row(package) for package in found.installed)
        lines.append(f"| installed | before | after | why |\n|---|---|---|---|\n{rows}")
    undeclared = [package for package in found.installed if package.origin == "undeclared"]
    if undeclared:
        named = ", ".join(f"{quoted(each.package)} {quoted(each.version)}" for each in undeclared)
        lines.append(
            f"**Not declared:** {named}. Nothing that the skill declares needs them: declare them, "
            "or do not install them."
        )
    if found.removed:
        lines.append(f"**Removed:** {_packages(found.removed)}.")
    if found.unmet:
        named = ", ".join(
            f"{quoted(each.requirement, 100)} (has: {quoted(each.installed_version or 'nothing')})"
            for each in found.unmet
        )
        lines.append(f"**Declared, and not so after the tasks:** {named}.")
    lines += [_conflict(conflict) for conflict in found.conflicts]
    if found.mending is not None:
        lines.append(_mending(found.mending))
    return "## Dependencies\n\n" + "\n\n".join(lines)


def _conflict(conflict: DependencyConflict) -> str:
    asked = "; ".join(
        f"{quoted(ask.by)} asks for {quoted(ask.constraint, 100)}" for ask in conflict.asked
    )
    resolved = (
        f"{quoted(conflict.resolved_version)} would do for all"
        if conflict.resolved_version
        else "no known version will do for all"
    )
    return (
        f"**Conflict over {quoted(conflict.package)} ({conflict.ecosystem}):** "
        f"{quoted(conflict.version_before or 'nothing')} before, "
        f"{quoted(conflict.version_after or 'nothing')} after; {asked}; {resolved}. Needed by "
        f"{quoted(', '.join(conflict.skills), 1000)}. "
        f"Suggested: {quoted(conflict.suggested_constraint, 200)}"
    )


def _mending(mending: MendingReport) -> str:
    outcome = (
        "and all of them work: this environment was kept."
        if mending.succeeded
        else f"which did not help: {quoted(mending.detail, 500)}. It was undone."
    )
    tested = quoted(", ".join(mending.retested), 1000) or "nobody"
    return (
        f"**Tried to mend it:** {_packages(mending.installed)} installed instead, because of "
        f"{quoted('; '.join(mending.broken), 1000)}. Tested again: {tested}; {outcome}"
    )


def _installed_row(package: InstalledPackage) -> str:
    why = {
        "declared": "declared",
        "pulled_in": f"needed by {quoted(', '.join(package.needed_by))}",
        "undeclared": "**not declared**",
    }[package.origin]
    return (
        f"| {quoted(package.package)} ({package.ecosystem}) "
        f"| {quoted(package.version_before or '–')} | {quoted(package.version)} | {why} |"
    )


def _requirements(declared: Dependencies) -> str:
    every = (*declared.pip, *declared.npm, *declared.other)
    return ", ".join(quoted(requirement, 100) for requirement in every) or "none"


def _packages(packages: Sequence[Package]) -> str:
    named = (f"{quoted(p.name)} {quoted(p.version)} ({p.ecosystem})" for p in packages)
    return ", ".join(dict.fromkeys(named)) or "none"


def _findings(report: Report) -> str:
    if not report.findings:
        return "## Format\n\nNo findings."
    rows = _listed(
        f"{finding.severity} {finding.code}{_place(finding)}: "
        f"{quoted(finding.message)} {quoted(finding.fix)}"
        for finding in report.findings
    )
    return f"## Format\n\n{rows}"


def _place(finding: Finding) -> str:
    if finding.path is None:
        return ""
    line = f":{finding.line}" if finding.line else ""
    return f" ({quoted(finding.path)}{line})"


def _costs(report: Report) -> str:
    rows = "\n".join(
        f"| {use.role} | {quoted(use.model)} | {use.prompt_version} | {use.calls} "
        f"| {use.input_tokens} | {use.output_tokens} | {use.seconds:.2f} |"
        for use in report.models
    )
    total = (
        f"| **total** | | | {sum(use.calls for use in report.models)} "
        f"| {sum(use.input_tokens for use in report.models)} "
        f"| {sum(use.output_tokens for use in report.models)} "
        f"| {sum(use.seconds for use in report.models):.2f} |"
    )
    parts = [
        f"## Versions and costs\n\nRubric `{report.rubric_version}`",
        (
            "| role | model | prompt | calls | tokens in | tokens out | seconds |\n"
            f"|---|---|---|---:|---:|---:|---:|\n{rows}\n{total}"
        ),
        *(
            f"The {run.kind} run took {run.timings.wall:.1f} s: {run.timings.model:.1f} s waiting "
            f"for models, {run.timings.commands:.1f} s running commands."
            for run in report.runs
            if run.timings
        ),
    ]
    if report.models and all(use.model.startswith(REHEARSAL) for use in report.models):
        parts.append(
            "No LLM took part: these are rehearsals by a deterministic model, which exercises what "
            "the skill documents and cannot judge more than that."
        )
    return "\n\n".join(parts)


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _seconds(duration: timedelta) -> str:
    return f"{duration.total_seconds():.1f} s"
