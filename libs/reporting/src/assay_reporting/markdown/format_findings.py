"""What the format check found."""

from assay_contracts.reports import Report
from assay_contracts.skills import Finding
from assay_reporting.language import phrase
from assay_reporting.markdown.layout import bullets
from assay_reporting.text import quoted


def format_findings(report: Report) -> str:
    found = bullets(map(_finding, report.findings)) or phrase("No findings.")
    return f"## {phrase('Format')}\n\n{found}"


def _finding(finding: Finding) -> str:
    return (
        f"{phrase(finding.severity)} {finding.code}{_place(finding)}: "
        f"{quoted(finding.message)} {quoted(finding.fix)}"
    )


def _place(finding: Finding) -> str:
    if finding.path is None:
        return ""
    line = f":{finding.line}" if finding.line else ""
    return f" ({quoted(finding.path)}{line})"
