"""The verdict on one screen, made from the report's data."""

from collections.abc import Iterable, Iterator
from typing import Final

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from assay_cli.text import one_line
from assay_contracts.reports import Report, RunReport
from assay_contracts.runs import ModelUse, TaskOutcome
from assay_contracts.tasks import TaskId
from assay_contracts.validations import Scores, Verdict

STYLE_OF: Final[dict[Verdict, str]] = {
    "passed": "bold green",
    "failed": "bold red",
    "inconclusive": "bold yellow",
}
REHEARSAL: Final = "rehearsal:"
MOST_CALLS_SHOWN: Final = 5


def score_card(report: Report) -> RenderableType:
    sections: list[RenderableType] = [_heading(report)]
    if report.scores is not None:
        sections.append(_scores(report.scores))
    sections += _tasks(report)
    sections.append(_facts(report))
    return Group(*(Padding(section, (1, 0, 0, 0)) for section in sections))


def _heading(report: Report) -> Text:
    text = Text()
    text.append(one_line(report.skill_name), style="bold")
    text.append("  ")
    text.append(report.verdict.upper(), style=STYLE_OF[report.verdict])
    if report.scores is not None:
        text.append(f"  {report.scores.overall:.1f} of 100")
    text.append(f"\n{one_line(report.reason)}")
    if report.prose is not None and report.prose.summary:
        text.append(f"\n{one_line(report.prose.summary)}", style="italic")
    return text


def _scores(scores: Scores) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("score")
    table.add_column("of 100", justify="right")
    for name, value in (
        ("completion", scores.completion),
        ("trigger", scores.trigger),
        ("offline", scores.offline),
        ("overall", scores.overall),
    ):
        table.add_row(name, "not run" if value is None else f"{value:.1f}")
    return table


def _tasks(report: Report) -> Iterator[RenderableType]:
    for task in report.tasks:
        text = Text()
        text.append(f"{task.task_id}  ", style="bold")
        text.append(one_line(task.prompt, 200))
        for run in report.runs:
            text.append_text(_in_run(report.skill_name, task.task_id, run))
        yield text


def _in_run(skill: str, task_id: TaskId, run: RunReport) -> Text:
    outcome = next((one for one in run.outcomes if one.task_id == task_id), None)
    grade = next((one for one in run.grades if one.task_id == task_id), None)
    text = Text(f"\n    {run.kind:<8} ")
    if outcome is None:
        return text.append(one_line(run.failure or "not carried out", 200))
    text.append(
        f"{grade.grade} of 5" if grade else "no grade",
        style="bold" if grade and grade.grade > 2 else "bold red",  # noqa: PLR2004  # mostly not done
    )
    text.append(f"  {_did(skill, outcome)}")
    if grade:
        text.append(f"\n             {one_line(grade.reasons, 300)}", style="dim")
    return text


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
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column()
    for run in report.runs:
        table.add_row(f"network calls, {run.kind} run", Text(_network(run)))
    for finding in report.findings:
        table.add_row(f"format {finding.severity}", Text(one_line(finding.message, 200)))
    table.add_row("model", Text(_models(report.models)))
    table.add_row("time", Text(_time(report)))
    return table


def _network(run: RunReport) -> str:
    if run.failure is not None:
        return "unknown, for the run failed"
    if not run.network_calls:
        return "none"
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
