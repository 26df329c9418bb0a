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
    return "\n\n".join(("## Trigger", *_choices(found), *_near_misses(found), *_taken(found)))
    return "\n\n".join((f"## {phrase('Trigger')}", *_choices(found), *_near_misses(found)))


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
        tasks = ", ".join(each.task_ids)
        whose = quoted(each.skill_name)
        if each.evidence == "words":
            yield (
                f"**Weakness:** by its words it fits {tasks} of {whose} as well as that skill "
                "does. Nobody tried whether agents take it."
            )
            continue
        failed = f" Not completed then: {', '.join(each.failed)}." if each.failed else ""
        yield f"**Weakness:** it takes {tasks} away from {whose}.{failed}"


def _row(near_miss: NearMissReport) -> tuple[str, ...]:
    return (
        quoted(near_miss.prompt, 300),
        phrase("yes") if near_miss.silent else f"**{phrase('no')}**",
        ", ".join(map(quoted, near_miss.skills_opened)) or NOTHING,
    )
