"""The verdict on one screen, made from the report's data."""

from collections.abc import Iterable
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from assay_contracts.reports import Report, RunReport
from assay_contracts.runs import ModelUse, TaskOutcome
from assay_contracts.scores import Scores
from assay_contracts.tasks import TaskId
from assay_contracts.validations import Verdict
from assay_reporting.text import one_line

STYLE_OF: Final[dict[Verdict, str]] = {
    "passed": "bold green",
    "failed": "bold red",
    "inconclusive": "bold yellow",
}
REHEARSAL: Final = "rehearsal:"
MOST_CALLS_SHOWN: Final = 5
MOSTLY_NOT: Final = 2
"""The grade for a task that was mostly not done."""


def render_score_card(report: Report) -> RenderableType:
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
    text.append(report.verdict.upper(), style=STYLE_OF[report.verdict])
    if report.scores is not None:
        text.append(f"  {report.scores.overall:.1f} of 100")
    summary = report.prose.summary if report.prose else ""
    if report.reason not in summary:
        text.append(f"\n{one_line(report.reason)}")
    if summary:
        text.append(f"\n{one_line(summary)}")
    return text


def _scores(scores: Scores) -> Table:
    table = _grid()
    for name, value in (
        ("completion", scores.completion),
        ("trigger", scores.trigger),
        ("offline", scores.offline),
        ("overall", scores.overall),
    ):
        table.add_row(name, "not run" if value is None else f"{value:5.1f}")
    return table


def _tasks(report: Report) -> Table:
    table = _grid()
    for task in report.tasks:
        runs = _grid(fixed_columns=2)
        for run in report.runs:
            runs.add_row(run.kind, *_in_run(report.skill_name, task.task_id, run))
        prompt = Text(one_line(task.prompt, 200))
        table.add_row(Text(task.task_id, style="bold"), Group(prompt, runs))
    return table


def _in_run(skill: str, task_id: TaskId, run: RunReport) -> tuple[Text, Text]:
    """The grade, and what it is for."""
    outcome = next((one for one in run.outcomes if one.task_id == task_id), None)
    grade = next((one for one in run.grades if one.task_id == task_id), None)
    if outcome is None:
        return Text("–"), Text(one_line(run.failure or "not carried out", 200))
    what = Text(_did(skill, outcome))
    if grade is None:
        return Text("–"), what
    style = "bold" if grade.grade > MOSTLY_NOT else "bold red"
    return (
        Text(f"{grade.grade} of 5", style=style),
        what.append(f"\n{one_line(grade.reasons, 300)}", style="dim"),
    )


def _did(skill: str, outcome: TaskOutcome) -> str:
    used = any(use.skill == skill for use in outcome.skills_used)
    passed = sum(check.passed for check in outcome.checks)
    parts = [
        "used the skill" if used else "did not use the skill",
        f"{outcome.commands} command{'' if outcome.commands == 1 else 's'}",
        f"{passed} of {len(outcome.checks)} checks",
        f"{outcome.seconds:.1f} s",
    ]
    if outcome.bounds_hit:
        parts.append(f"stopped by its limit of {' and '.join(outcome.bounds_hit)}")
    return ", ".join(parts)


def _facts(report: Report) -> Table:
    table = _grid()
    for run in report.runs:
        table.add_row(f"network calls, {run.kind} run", Text(_network(run)))
    for finding in report.findings:
        table.add_row(f"format {finding.severity}", Text(one_line(finding.message, 200)))
    table.add_row("model", Text(_models(report.models)))
    table.add_row("time", Text(_time(report)))
    return table


def _grid(fixed_columns: int = 1) -> Table:
    table = Table.grid(padding=(0, 2))
    for _ in range(fixed_columns):
        table.add_column(no_wrap=True)
    table.add_column()
    return table


def _network(run: RunReport) -> str:
    if run.failure is not None:
        return "unknown, for the run failed"
    if not run.network_calls:
        watched = run.sandbox is not None and run.sandbox.network == "blocked"
        return "none" if watched else "not watched"
    calls = [
        f"{one_line(call.destination, 80)} by {call.task_id or 'no task'}"
        f" ({one_line(call.command, 60)})"
        for call in run.network_calls
    ]
    more = len(calls) - MOST_CALLS_SHOWN
    shown = "\n".join(calls[:MOST_CALLS_SHOWN])
    return f"{shown}\nand {more} more" if more > 0 else shown


def _models(models: Iterable[ModelUse]) -> str:
    roles: dict[str, list[str]] = {}
    for use in models:
        if use.role not in roles.setdefault(use.model, []):
            roles[use.model].append(use.role)
    if not roles:
        return "none took part"
    if all(model.startswith(REHEARSAL) for model in roles):
        return (
            f"{', '.join(roles)}: no LLM took part, the built-in rehearsal carried out what the"
            " skill documents"
        )
    return ", ".join(f"{one_line(model)} ({', '.join(who)})" for model, who in roles.items())


def _time(report: Report) -> str:
    began = report.started_at or report.queued_at
    model_s = sum(use.seconds for use in report.models)
    command_s = sum(run.timings.commands for run in report.runs if run.timings)
    return (
        f"{(report.completed_at - began).total_seconds():.1f} s,"
        f" of which {model_s:.1f} s in the model and {command_s:.1f} s in sandbox commands"
    )
