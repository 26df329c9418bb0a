"""Layer 2: how the skills that were approved already fared in the new environment."""

from collections.abc import Iterator

from assay_contracts.reports import RegressionReport, Report
from assay_reporting.language import phrase
from assay_reporting.markdown.layout import bullets, table
from assay_reporting.text import quoted
from assay_reporting.view import NOTHING, uncompleted, version_text


def approved_skills(report: Report) -> str:
    if not report.regressions:
        return ""
    failed = bullets(line for each in report.regressions for line in _failed_tasks(each))
    causes = bullets(line for each in report.regressions for line in _explained(each))
    parts = (
        f"## {phrase('Approved skills on this environment')}",
        phrase("Built on {version}.", version=report.runtime_version),
        table(
            (phrase("skill"), phrase("result"), phrase("grades (before)")),
            map(_row, report.regressions),
        ),
        failed,
        causes,
    )
    return "\n\n".join(part for part in parts if part)


def _row(regression: RegressionReport) -> tuple[str, str, str]:
    grades = ", ".join(
        f"{task.task_id} {task.grade} ({task.grade_before or NOTHING})" for task in regression.tasks
    )
    result = phrase("passed") if regression.passed else f"**{phrase('failed')}**"
    return quoted(regression.skill_name), result, grades


def _failed_tasks(regression: RegressionReport) -> Iterator[str]:
    for task in uncompleted(regression):
        yield f"**{quoted(regression.skill_name)}** {task.task_id}: {quoted(task.reasons, 500)}"


def _explained(regression: RegressionReport) -> Iterator[str]:
    for change in regression.explained_by:
        yield phrase(
            "**{skill}** declares {package}, which went from {old} to {new}; used by {users}. "
            "Suggested: {constraint}",
            skill=quoted(regression.skill_name),
            package=quoted(change.package),
            old=quoted(change.old_version),
            new=quoted(version_text(change.new_version)),
            users=quoted(", ".join(change.used_by)),
            constraint=quoted(change.suggested_constraint),
        )
