"""A verdict in a few lines of Markdown, for the page that a continuous integration shows."""

import re
from typing import Final

from assay_contracts.reports import Language, Report
from assay_contracts.scores import Scores
from assay_contracts.validations import Verdict
from assay_reporting.language import phrase, speaking
from assay_reporting.markdown.layout import bullets, table
from assay_reporting.text import escaped, one_line
from assay_reporting.view import finding_title, grade_cell, grade_of, overall_row, score_rows

MARK: Final[dict[Verdict, str]] = {"passed": "✅", "failed": "❌", "inconclusive": "⚠️"}
LONGEST_PROMPT: Final = 120
_MARKUP: Final = re.compile(r"[\\`*_{}\[\]()<>#+!|~&-]")
"""More than the report escapes: this stands on a page among the words of others."""


def render_summary(report: Report, language: Language = "en") -> str:
    """Heading, reason, scores and tasks; ends with an empty line, so that more can follow."""
    with speaking(language):
        parts = (
            f"## {MARK[report.verdict]} {_text(report.skill_name)}: {phrase(report.verdict)}",
            _text(report.reason),
            _scores(report.scores) if report.scores else "",
            _tasks(report) if report.tasks else "",
            bullets(f"{finding_title(each)}: {_text(each.message)}" for each in report.findings),
        )
    return "\n\n".join(part for part in parts if part) + "\n\n"


def _scores(scores: Scores) -> str:
    rows = (overall_row(scores), *score_rows(scores))
    names = [row.name for row in rows]
    return table(names, [[row.text for row in rows]], numbers=names)


def _tasks(report: Report) -> str:
    kinds = [phrase(run.kind) for run in report.runs]
    rows = (
        (
            task.task_id,
            *(grade_cell(grade_of(run, task.task_id)) for run in report.runs),
            _text(task.prompt, LONGEST_PROMPT),
        )
        for task in report.tasks
    )
    return table((phrase("task"), *kinds, ""), rows, numbers=kinds)


def _text(text: str, longest: int | None = None) -> str:
    """What a skill wrote is text here, never markup."""
    return escaped(one_line(text, longest), _MARKUP)
