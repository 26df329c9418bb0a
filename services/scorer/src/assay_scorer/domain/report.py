"""The report as data, and as Markdown made from that data."""

from collections.abc import Iterable
from datetime import timedelta

from assay_contracts.grades import RUBRIC_VERSION, RunGraded
from assay_contracts.reports import Report, RunReport
from assay_contracts.runs import NetworkCall, Package, RunFinished, RunKind, TaskOutcome
from assay_contracts.tasks import CheckResult, Task
from assay_contracts.validations import ReportRef, Scores, ValidationCompleted, ValidationTimings
from assay_scorer.domain import scoring
from assay_scorer.domain.validation import Validation

REHEARSAL = "rehearsal:"
LISTED_CALLS = 50


def build_report(validation: Validation) -> Report:
    """Everything known so far; called once the verdict stands."""
    assert validation.verdict is not None
    assert validation.reason is not None
    assert validation.completed_at is not None
    graded = validation.online_graded or validation.offline_graded
    passed = validation.verdict == "passed"
    conclusive = validation.verdict != "inconclusive"
    stage = "completed" if passed else "failed" if conclusive else "inconclusive"
    return Report(
        validation_id=validation.validation_id,
        skill_id=validation.skill_id,
        skill_name=validation.skill_name,
        revision=validation.revision,
        kind=validation.kind,
        bundle_sha256=validation.bundle.sha256,
        validation_stage=stage,
        verdict=validation.verdict,
        reason=validation.reason,
        scores=validation.scores,
        layer1_passed=passed if conclusive else None,
        # No skill is approved yet, so there is nothing that a passed skill could have broken.
        layer2_passed=True if passed else None,
        findings=validation.findings,
        dependencies=validation.manifest.dependencies,
        tasks=validation.tasks,
        runs=tuple(_runs(validation)),
        prose=validation.prose,
        models=validation.models,
        rubric_version=graded.rubric_version if graded else RUBRIC_VERSION,
        queued_at=validation.queued_at,
        started_at=validation.started_at,
        completed_at=validation.completed_at,
    )


def report_ref(validation: Validation) -> ReportRef:
    """Where the report of this validation lies, or will lie."""
    return ReportRef(
        url=f"/api/admin/skills/{validation.skill_id}/report",
        json_key=f"{validation.validation_id}.json",
        markdown_key=f"{validation.validation_id}.md",
    )


def completion_of(validation: Validation) -> ValidationCompleted:
    """The public fact that this validation has ended."""
    assert validation.verdict is not None
    assert validation.reason is not None
    assert validation.completed_at is not None
    runs = [run for run in (validation.online, validation.offline) if run and run.timings]
    return ValidationCompleted(
        validation_id=validation.validation_id,
        skill_id=validation.skill_id,
        skill_name=validation.skill_name,
        revision=validation.revision,
        kind=validation.kind,
        bundle_sha256=validation.bundle.sha256,
        verdict=validation.verdict,
        reason=validation.reason,
        scores=validation.scores,
        models=tuple(dict.fromkeys(use.model for use in validation.models)),
        timings=ValidationTimings(
            queued_at=validation.queued_at,
            started_at=validation.started_at,
            completed_at=validation.completed_at,
            model_seconds=sum(use.seconds for use in validation.models),
            command_seconds=sum(run.timings.commands for run in runs if run.timings),
        ),
        report=report_ref(validation),
    )


def _runs(validation: Validation) -> Iterable[RunReport]:
    pairs: tuple[tuple[RunKind, RunFinished | None, RunGraded | None], ...] = (
        ("online", validation.online, validation.online_graded),
        ("offline", validation.offline, validation.offline_graded),
    )
    for kind, run, graded in pairs:
        if run is not None:
            yield RunReport(
                kind=kind,
                outcomes=run.outcomes,
                grades=graded.grades if graded else (),
                network_calls=run.network_calls,
                network_calls_omitted=run.network_calls_omitted,
                sandbox=run.sandbox,
                packages_added=_added(run.packages_before, run.packages_after),
                timings=run.timings,
            )


def _added(before: tuple[Package, ...], after: tuple[Package, ...]) -> tuple[Package, ...]:
    had = set(before)
    return tuple(package for package in after if package not in had)


# -- Markdown -----------------------------------------------------------------------------------


def render_markdown(report: Report) -> str:
    """The report for a person: verdict first, then numbers, then the evidence."""
    sections = (
        _head(report),
        _score_card(report.scores),
        _prose(report),
        *(_run(report, run) for run in report.runs),
        _findings(report),
        _costs(report),
    )
    return "\n\n".join(section for section in sections if section) + "\n"


def quoted(text: str, limit: int = 300) -> str:
    """Text from a skill or a sandbox, made harmless: one line, no markup, bounded."""
    line = " ".join(text.split())
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
    return (
        "## Score\n\n"
        "| dimension | weight | score |\n|---|---:|---:|\n"
        f"| completion | {scoring.COMPLETION_WEIGHT:.0%} | {scores.completion:.1f} |\n"
        f"| trigger | {scoring.TRIGGER_WEIGHT:.0%} | {scores.trigger:.1f} |\n"
        f"| offline | {scoring.OFFLINE_WEIGHT:.0%} | {offline} |\n"
        f"| **overall** | pass at {scoring.OVERALL_PASS:g} | **{scores.overall:.1f}** |"
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
            parts.append(f"### {title}\n\n" + "\n".join(f"- {quoted(line, 500)}" for line in lines))
    return "\n\n".join(parts)


def _run(report: Report, run: RunReport) -> str:
    parts = [f"## {run.kind.capitalize()} run"]
    if run.sandbox is not None:
        parts.append(
            f"Sandbox: {run.sandbox.kind}, from {quoted(run.sandbox.base)}, network "
            f"{run.sandbox.network}. Proof: {quoted(run.sandbox.proof, 500)}"
        )
    tasks = {task.task_id: task for task in report.tasks}
    parts += [_task(tasks[outcome.task_id], outcome, run) for outcome in run.outcomes]
    if run.kind != "online":
        parts.append(_network(run))
    if run.packages_added:
        listed = ", ".join(
            f"{quoted(package.name)} {quoted(package.version)} ({package.ecosystem})"
            for package in run.packages_added
        )
        parts.append(f"Packages installed: {listed}")
    return "\n\n".join(parts)


def _task(task: Task, outcome: TaskOutcome, run: RunReport) -> str:
    grade = next((grade for grade in run.grades if grade.task_id == outcome.task_id), None)
    used = ", ".join(dict.fromkeys(quoted(use.skill) for use in outcome.skills_used)) or "none"
    lines = [
        f"### {task.task_id}: {f'grade {grade.grade} of 5' if grade else 'not graded'}",
        f"**Asked:** {quoted(task.prompt, 600)}",
        f"**Skills used:** {used} · {outcome.commands} commands · {outcome.seconds:.1f} s",
    ]
    if outcome.bounds_hit:
        lines.append(f"**Bounds hit:** {', '.join(outcome.bounds_hit)}")
    if grade:
        lines.append(f"**Why:** {quoted(grade.reasons, 1000)}")
        lines.append(
            "\n".join(f"- {quoted(e.source)}: {quoted(e.quote, 400)}" for e in grade.evidence)
        )
    if outcome.checks:
        lines.append("\n".join(_check(check) for check in outcome.checks))
    if outcome.answer:
        lines.append(f"**The agent said:** {quoted(outcome.answer, 400)}")
    return "\n\n".join(lines)


def _check(result: CheckResult) -> str:
    mark = "passed" if result.passed else "**failed**"
    return f"- check ({result.check.kind}) {mark}: {quoted(result.detail, 300)}"


def _network(run: RunReport) -> str:
    how = f"Counted by: {quoted(run.sandbox.observation, 300)}" if run.sandbox else ""
    if not run.network_calls:
        return f"**Network calls attempted:** none. {how}".rstrip()
    rows = "\n".join(_call(call) for call in run.network_calls[:LISTED_CALLS])
    total = len(run.network_calls) + run.network_calls_omitted
    return (
        f"**Network calls attempted:** {total}. {how}\n\n"
        f"| when | task | to | by |\n|---|---|---|---|\n{rows}"
    )


def _call(call: NetworkCall) -> str:
    return (
        f"| {call.at:%H:%M:%S} | {call.task_id or '–'} | {quoted(call.destination, 100)} "
        f"| {quoted(call.command, 120)} |"
    )


def _findings(report: Report) -> str:
    if not report.findings:
        return "## Format\n\nNo findings."
    rows = "\n".join(
        f"- {finding.severity} {finding.code}"
        f"{f' ({quoted(finding.path)})' if finding.path else ''}: "
        f"{quoted(finding.message)} {quoted(finding.fix)}"
        for finding in report.findings
    )
    return f"## Format\n\n{rows}"


def _costs(report: Report) -> str:
    rows = "\n".join(
        f"| {use.role} | {quoted(use.model)} | {use.prompt_version} | {use.calls} "
        f"| {use.input_tokens} | {use.output_tokens} | {use.seconds:.2f} |"
        for use in report.models
    )
    rehearsed = report.models and all(use.model.startswith(REHEARSAL) for use in report.models)
    note = (
        "\n\nNo LLM took part: these are rehearsals by a deterministic model, which exercises what "
        "the skill documents and cannot judge more than that."
        if rehearsed
        else ""
    )
    return (
        f"## Versions and costs\n\nRubric `{report.rubric_version}`\n\n"
        "| role | model | prompt | calls | tokens in | tokens out | seconds |\n"
        f"|---|---|---|---:|---:|---:|---:|\n{rows}{note}"
    )


def _seconds(duration: timedelta) -> str:
    return f"{duration.total_seconds():.1f} s"
