"""The verdict on one screen, made from the report's data."""

from collections.abc import Iterable
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from assay_contracts.base import ModelUse
from assay_contracts.grades import PARTLY_DONE_GRADE
from assay_contracts.reports import Language, Report, RunReport
from assay_contracts.runs import NetworkCall, TaskOutcome
from assay_contracts.scores import Scores
from assay_contracts.tasks import TaskId
from assay_contracts.validations import Verdict
from assay_reporting.language import phrase, speaking
from assay_reporting.text import one_line
from assay_reporting.view import (
    NOTHING,
    attempts_text,
    calls_shown,
    cause_text,
    command_seconds,
    commands_text,
    counted_text,
    finding_title,
    grade_cell,
    grade_of,
    is_over_broad,
    is_scored,
    is_watched,
    lift_text,
    made_by,
    model_seconds,
    only_rehearsed,
    outcome_of,
    overall_row,
    part_text,
    precision_text,
    role_text,
    run_title,
    score_rows,
    seconds_taken,
    seconds_text,
)

STYLE_OF: Final[dict[Verdict, str]] = {
    "passed": "bold green",
    "failed": "bold red",
    "inconclusive": "bold yellow",
}
MOST_CALLS_SHOWN: Final = 5
SCORE_WIDTH: Final = 5
"""Of `100.0`: shorter scores are moved to the right, so that the points are below each other."""


def render_score_card(report: Report, language: Language = "en") -> RenderableType:
    with speaking(language):
        sections: list[RenderableType] = [_heading(report)]
        if report.scores is not None:
            sections.append(_scores(report.scores))
        if report.tasks:
            sections.append(_tasks(report))
        sections.append(_facts(report))
    return Group(*(part for section in sections for part in ("", section)))


def _heading(report: Report) -> Text:
    text = Text()
    text.append(one_line(report.skill_name), style="bold")
    text.append("  ")
    text.append(phrase(report.verdict.upper()), style=STYLE_OF[report.verdict])
    if report.scores is not None:
        points = phrase("{points} of 100", points=overall_row(report.scores).text)
        text.append(f"  {points}")
    summary = report.prose.summary if report.prose else ""
    if report.reason not in summary:
        text.append(f"\n{one_line(report.reason)}")
    if summary:
        text.append(f"\n{one_line(summary)}")
    return text


def _scores(scores: Scores) -> Table:
    table = _grid()
    for row in (*score_rows(scores), overall_row(scores)):
        table.add_row(row.name, row.text.rjust(SCORE_WIDTH))
    return table


def _tasks(report: Report) -> Table:
    table = _grid()
    for task in report.tasks:
        runs = _grid(fixed_columns=2)
        for run in report.runs:
            runs.add_row(phrase(run.kind), *_in_run(report.skill_name, task.task_id, run))
        prompt = Text(one_line(task.prompt, 200))
        table.add_row(Text(task.task_id, style="bold"), Group(prompt, runs))
    return table


def _in_run(skill: str, task_id: TaskId, run: RunReport) -> tuple[Text, Text]:
    """The grade, and what it is for."""
    outcome, grade = outcome_of(run, task_id), grade_of(run, task_id)
    if outcome is None:
        return Text(NOTHING), Text(one_line(run.failure or phrase("not carried out"), 200))
    counted = counted_text(run, outcome, grade)
    what = Text(_work_done(skill, outcome) + (f", {counted}" if counted else ""))
    if grade is None:
        return Text(grade_cell(grade)), what
    style = "bold" if grade.grade >= PARTLY_DONE_GRADE else "bold red"
    return (
        Text(grade_cell(grade), style=style),
        what.append(f"\n{one_line(grade.explanation, 300)}", style="dim"),
    )


def _work_done(skill: str, outcome: TaskOutcome) -> str:
    passed = sum(check.passed for check in outcome.checks)
    parts = [
        part_text(outcome, skill),
        commands_text(outcome),
        phrase("{passed} of {all} checks", passed=passed, all=len(outcome.checks)),
        seconds_text(outcome.seconds),
    ]
    if outcome.bounds_hit:
        bounds = ", ".join(map(phrase, outcome.bounds_hit))
        parts.append(phrase("stopped by its limit of {bounds}", bounds=bounds))
    return ", ".join(parts)


def _facts(report: Report) -> Table:
    table = _grid()
    for run in report.runs:
        table.add_row(phrase("network calls, {run}", run=run_title(run)), Text(_network(run)))
    if report.trigger is not None and report.trigger.near_misses:
        broad = f": {phrase('over-broad')}" if is_over_broad(report.trigger) else ""
        table.add_row(phrase("precision"), Text(f"{precision_text(report.trigger)}{broad}"))
    if report.control is not None:
        said = phrase("the skill {does}", does=lift_text(report.control))
        table.add_row(phrase("lift"), Text(said))
    for finding in report.findings:
        table.add_row(finding_title(finding), Text(one_line(finding.message, 200)))
    table.add_row(phrase("model"), Text(_models(report.models)))
    table.add_row(phrase("time"), Text(_time(report)))
    return table


def _grid(fixed_columns: int = 1) -> Table:
    table = Table.grid(padding=(0, 2))
    for _ in range(fixed_columns):
        table.add_column(no_wrap=True)
    table.add_column()
    return table


def _network(run: RunReport) -> str:
    if run.failure is not None:
        return phrase("unknown, for the run failed")
    shown = calls_shown(run, MOST_CALLS_SHOWN)
    if not shown.total:
        return phrase("none") if is_watched(run) else phrase("not watched")
    lines = [_network_line(run, call) for call in shown.calls]
    if shown.more:
        lines.append(phrase("and {count} more", count=shown.more))
    return "\n".join(lines)


def _network_line(run: RunReport, call: NetworkCall) -> str:
    notes = [attempts_text(call)]
    if call.cause is not None:
        notes.append(phrase("by {cause}", cause=cause_text(call)))
    if run.kind == "offline" and not is_scored(run, call):
        notes.append(phrase("not counted"))
    line = phrase(
        "{place} by {task} ({program})",
        place=one_line(call.destination, 80),
        task=call.task_id or phrase("no task"),
        program=one_line(made_by(call), 60),
    )
    return ", ".join([line, *filter(None, notes)])


def _models(models: Iterable[ModelUse]) -> str:
    roles: dict[str, list[str]] = {}
    for use in models:
        if role_text(use.role) not in roles.setdefault(use.model, []):
            roles[use.model].append(role_text(use.role))
    if not roles:
        return phrase("none took part")
    if only_rehearsed(models):
        return phrase(
            "{models}: no LLM took part, the built-in rehearsal carried out what the skill "
            "documents",
            models=", ".join(roles),
        )
    return ", ".join(f"{one_line(model)} ({', '.join(who)})" for model, who in roles.items())


def _time(report: Report) -> str:
    return phrase(
        "{all}, of which {model} in the model and {commands} in sandbox commands",
        all=seconds_text(seconds_taken(report)),
        model=seconds_text(model_seconds(report)),
        commands=seconds_text(command_seconds(report)),
    )
