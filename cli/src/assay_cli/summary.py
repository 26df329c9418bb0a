"""A verdict in a few lines of Markdown, for the page that a continuous integration shows."""

import re
from typing import Final

from assay_cli.printing import number
from assay_cli.text import one_line
from assay_contracts.reports import Report, RunReport
from assay_contracts.tasks import TaskId
from assay_contracts.validations import Verdict

MARK: Final[dict[Verdict, str]] = {"passed": "✅", "failed": "❌", "inconclusive": "⚠️"}
LONGEST_PROMPT: Final = 120
_MEANS_SOMETHING: Final = re.compile(r"([\\`*_{}\[\]()<>#+!|~&-])")


def summary(report: Report) -> str:
    """Heading, reason, scores and tasks; ends with an empty line, so that more can follow."""
    lines = [
        f"## {MARK[report.verdict]} {_text(report.skill_name)}: {report.verdict}",
        "",
        _text(report.reason),
        "",
    ]
    if report.scores is not None:
        names = ("overall", "completion", "trigger", "offline")
        values = (number(getattr(report.scores, name)) for name in names)
        lines += [f"| {' | '.join(names)} |", "|---:|---:|---:|---:|", f"| {' | '.join(values)} |"]
        lines.append("")
    if report.tasks:
        kinds = [run.kind for run in report.runs]
        lines += [
            f"| task | {' | '.join(kinds)} | |",
            f"|---|{'---:|' * len(kinds)}---|",
            *(
                f"| {_text(task.task_id)} | "
                + " | ".join(_grade(run, task.task_id) for run in report.runs)
                + f" | {_text(task.prompt, LONGEST_PROMPT)} |"
                for task in report.tasks
            ),
            "",
        ]
    for finding in report.findings:
        lines.append(f"- format {finding.severity}: {_text(finding.message)}")
    return "\n".join(lines).rstrip() + "\n\n"


def _grade(run: RunReport, task_id: TaskId) -> str:
    grade = next((each for each in run.grades if each.task_id == task_id), None)
    return "–" if grade is None else f"{grade.grade} of 5"


def _text(text: str, longest: int | None = None) -> str:
    """What a skill wrote is text here, never markup."""
    return _MEANS_SOMETHING.sub(r"\\\1", one_line(text, longest))
