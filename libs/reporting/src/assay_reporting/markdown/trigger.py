"""What the skill was chosen among, what was chosen instead, and where it should keep silent."""

from collections.abc import Iterator

from assay_contracts.reports import NearMissReport, Report, TriggerReport
from assay_reporting.language import phrase
from assay_reporting.markdown.layout import table
from assay_reporting.text import quoted
from assay_reporting.view import NOTHING, is_over_broad, precision_text


def trigger(report: Report) -> str:
    found = report.trigger
    if found is None or not (found.crowd or found.near_misses or found.taken):
        return ""
    said = (*_choices(found), *_near_misses(found), *_taken(found))
    return "\n\n".join((f"## {phrase('Trigger')}", *said))


def _choices(found: TriggerReport) -> Iterator[str]:
    if found.crowd:
        yield phrase(
            "Agents chose among {all} skills, {built_in} of them built in.",
            all=len(found.crowd) + 1,
            built_in=len(found.neighbours),
        )
    for task in found.chosen_instead:
        yield phrase(
            "**Chosen instead in {task}:** {skills}",
            task=task.task_id,
            skills=", ".join(map(quoted, task.skills)),
        )


def _near_misses(found: TriggerReport) -> Iterator[str]:
    if not found.near_misses:
        return
    yield phrase(
        "**Precision:** {precision}: so many prompts that it is not for left it alone. "
        "It is not part of the score.",
        precision=precision_text(found),
    )
    if is_over_broad(found):
        yield phrase(
            "**Weakness:** the description is over-broad; it is chosen for what it is not for."
        )
    columns = (phrase("not for this skill"), phrase("stayed silent"), phrase("opened"))
    yield table(columns, map(_row, found.near_misses))


def _taken(found: TriggerReport) -> Iterator[str]:
    for each in found.taken:
        tasks, whose = ", ".join(each.task_ids), quoted(each.skill_name)
        if each.evidence == "words":
            yield phrase(
                "**Weakness:** by its words it fits {tasks} of {skill} at least as well as that "
                "skill does. Nobody tried whether agents take it.",
                tasks=tasks,
                skill=whose,
            )
            continue
        yield phrase("**Weakness:** it takes {tasks} away from {skill}.", tasks=tasks, skill=whose)
        if each.failed:
            yield phrase("Not completed then: {tasks}.", tasks=", ".join(each.failed))


def _row(near_miss: NearMissReport) -> tuple[str, ...]:
    return (
        quoted(near_miss.prompt, 300),
        phrase("yes") if near_miss.silent else f"**{phrase('no')}**",
        ", ".join(map(quoted, near_miss.skills_opened)) or NOTHING,
    )
