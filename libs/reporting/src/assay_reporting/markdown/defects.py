"""Programs of the skill that never worked: what was run, and the line that explains."""

from assay_contracts.attribution import Defect
from assay_contracts.reports import Report
from assay_reporting.language import phrase
from assay_reporting.markdown.layout import bullets
from assay_reporting.text import quoted


def defects(report: Report) -> str:
    if not report.defects:
        return ""
    return f"## {phrase('Defects')}\n\n{bullets(_defect(defect) for defect in report.defects)}"


def _defect(defect: Defect) -> str:
    said = phrase(
        "**{program}** never worked ({tasks}): {command} ended with {error}.",
        program=quoted(defect.program),
        tasks=", ".join(defect.tasks),
        command=quoted(defect.command, 300),
        error=quoted(defect.error, 500),
    )
    return said if defect.main_path else f"{said} {phrase('No task had to be done around it.')}"
