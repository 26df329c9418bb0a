"""The same tasks without the skill, and what it adds to them."""

from assay_contracts.reports import ControlTask, Report
from assay_reporting.language import phrase
from assay_reporting.markdown.layout import table
from assay_reporting.text import quoted
from assay_reporting.view import lift_text, of_best


def lift(report: Report) -> str:
    control = report.control
    if control is None:
        return ""
    title = f"## {phrase('Lift')}"
    if control.lift is None:
        return f"{title}\n\n{phrase('**No control:** {why}', why=quoted(control.missing, 500))}"
    grades = (phrase("with the skill"), phrase("without it"))
    rows = table((phrase("task"), *grades), map(_row, control.tasks), numbers=grades)
    said = phrase("**The skill {does}.** It is not part of the score.", does=lift_text(control))
    return f"{title}\n\n{said}\n\n{rows}"


def _row(task: ControlTask) -> tuple[str, ...]:
    return (
        task.task_id,
        of_best(task.grade),
        of_best(task.grade_without),
    )
