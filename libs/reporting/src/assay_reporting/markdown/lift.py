"""The same tasks without the skill, and what it adds to them."""

from assay_contracts.grades import BEST_GRADE
from assay_contracts.reports import ControlTask, Report
from assay_reporting.markdown.layout import table
from assay_reporting.text import quoted
from assay_reporting.view import lift_text


def lift(report: Report) -> str:
    control = report.control
    if control is None:
        return ""
    title = "## Lift"
    if control.lift is None:
        return f"{title}\n\n**No control:** {quoted(control.missing, 500)}"
    rows = table(
        ("task", "with the skill", "without it"),
        map(_row, control.tasks),
        numbers=("with the skill", "without it"),
    )
    said = f"**The skill {lift_text(control)}.** It is not part of the score."
    return f"{title}\n\n{said}\n\n{rows}"


def _row(task: ControlTask) -> tuple[str, ...]:
    return (
        task.task_id,
        f"{task.grade} of {BEST_GRADE}",
        f"{task.grade_without} of {BEST_GRADE}",
    )
