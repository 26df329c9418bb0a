"""Programs of the skill that never worked: what was run, and the line that explains."""

from assay_contracts.attribution import Defect
from assay_contracts.reports import Report
from assay_reporting.markdown.layout import bullets
from assay_reporting.text import quoted


def defects(report: Report) -> str:
    if not report.defects:
        return ""
    return f"## Defects\n\n{bullets(_defect(defect) for defect in report.defects)}"


def _defect(defect: Defect) -> str:
    harm = "" if defect.main_path else " No task had to be done around it."
    return (
        f"**{quoted(defect.program)}** never worked ({', '.join(defect.tasks)}): "
        f"{quoted(defect.command, 300)} ended with {quoted(defect.error, 500)}.{harm}"
    )
