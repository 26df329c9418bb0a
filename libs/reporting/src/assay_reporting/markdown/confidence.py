"""What the score rests on, and what was repeated because it rested on too little."""

from collections.abc import Iterator

from assay_contracts.confidence import Confidence, TaskTries
from assay_contracts.reports import Report
from assay_reporting.language import phrase
from assay_reporting.markdown.layout import table
from assay_reporting.view import NOT_REPEATED, REPEATED


def confidence(report: Report) -> str:
    found = report.confidence
    if found is None:
        return ""
    title = phrase("What the score rests on")
    return "\n\n".join((f"## {title}", *_said(found), *_tries(found)))


def _said(found: Confidence) -> Iterator[str]:
    yield phrase(
        "Tasks: {tasks}; done online: {tries} times; grades by judges: {samples}. The overall "
        "score could well lie {spread} points lower or higher.",
        tasks=found.tasks,
        tries=found.tries,
        samples=found.samples,
        spread=f"{found.spread:g}",
    )
    if found.repeated_because is not None:
        yield phrase(
            "**Repeated** {repeats} times: {tasks}, because {why}. The median counts.",
            repeats=found.repeats,
            tasks=", ".join(found.repeated_tasks),
            why=phrase(REPEATED[found.repeated_because]),
        )
    if found.not_repeated_because is not None:
        why = phrase(NOT_REPEATED[found.not_repeated_because])
        yield phrase("**Not repeated:** {why}.", why=why)
    if found.could_change:
        yield phrase("**Close:** the verdict lies within that spread of what it is held against.")
    for power in found.pass_power:
        yield f"pass^{power.k}: {power.share:.2f}"


def _tries(found: Confidence) -> Iterator[str]:
    if any(len(task.grades) > 1 for task in found.by_task):
        columns = (
            phrase("task"),
            phrase("each try"),
            phrase("counts"),
            phrase("skill used"),
            phrase("samples"),
        )
        yield table(columns, map(_row, found.by_task))


def _row(task: TaskTries) -> tuple[str, ...]:
    return (
        task.task_id,
        ", ".join(map(str, task.grades)),
        str(task.counted),
        ", ".join(phrase("yes") if used else phrase("no") for used in task.used),
        ", ".join(map(str, task.samples)),
    )
