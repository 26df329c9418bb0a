"""What the score rests on, and what was repeated because it rested on too little."""

from collections.abc import Iterator, Mapping
from typing import Final

from assay_contracts.confidence import Confidence, RepeatCause, RepeatsMissing, TaskTries
from assay_contracts.reports import Report
from assay_reporting.markdown.layout import table

_CAUSES: Final[Mapping[RepeatCause, str]] = {
    "near_completion_mark": "completion lay close to the mark of the online run",
    "near_pass_mark": "the overall score lay close to the mark",
    "graders_apart": "the grades of one result lay more than one apart",
    "full_test": "a full test measures how steady a skill is",
}
_MISSING: Final[Mapping[RepeatsMissing, str]] = {
    "rehearsal": "no LLM took part, and a rehearsal gives the same each time",
    "switched_off": "repeats are switched off",
    "no_time": "there was no time left",
    "failed": "the repeats could not be carried out",
}


def confidence(report: Report) -> str:
    found = report.confidence
    if found is None:
        return ""
    return "\n\n".join(("## What the score rests on", *_said(found), *_tries(found)))


def _said(found: Confidence) -> Iterator[str]:
    yield (
        f"{found.tasks} tasks, done {found.tries} times online, {found.samples} grades by judges. "
        f"The overall score could well lie {found.spread:g} points lower or higher."
    )
    if found.repeated_because is not None:
        tasks = ", ".join(found.repeated_tasks)
        times = "once" if found.repeats == 1 else f"{found.repeats} times"
        yield (
            f"**Repeated:** {tasks}, {times}, because {_CAUSES[found.repeated_because]}. The "
            "median counts."
        )
    if found.not_repeated_because is not None:
        yield f"**Not repeated:** {_MISSING[found.not_repeated_because]}."
    if found.could_change:
        yield "**Close:** the verdict lies within that spread of what it is held against."
    for power in found.pass_power:
        yield f"pass^{power.k}: {power.share:.2f}"


def _tries(found: Confidence) -> Iterator[str]:
    if any(len(task.grades) > 1 for task in found.by_task):
        yield table(
            ("task", "each try", "counts", "skill used", "samples"), map(_row, found.by_task)
        )


def _row(task: TaskTries) -> tuple[str, ...]:
    return (
        task.task_id,
        ", ".join(map(str, task.grades)),
        str(task.counted),
        ", ".join("yes" if used else "no" for used in task.used),
        ", ".join(map(str, task.samples)),
    )
