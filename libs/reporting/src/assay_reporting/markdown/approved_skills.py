"""Layer 2: how the skills that were approved already fared in the new environment."""

from collections.abc import Iterator

from assay_contracts.reports import RegressionReport, RegressionRule, Report
from assay_reporting.language import phrase
from assay_reporting.markdown.layout import bullets, table
from assay_reporting.text import quoted
from assay_reporting.view import CHANGED, NOTHING, uncompleted, version_text


def approved_skills(report: Report) -> str:
    if not report.regressions:
        return ""
    failed = bullets(line for each in report.regressions for line in _failed_tasks(each))
    causes = bullets(line for each in report.regressions for line in _explained(each))
    parts = (
        f"## {phrase('Approved skills on this environment')}",
        phrase("Built on {version}.", version=report.runtime_version),
        *(_rule(report.regression_rule) if report.regression_rule else ()),
        table(
            (phrase("skill"), phrase("result"), phrase("how"), phrase("grades (before)")),
            map(_row, report.regressions),
        ),
        failed,
        causes,
    )
    return "\n\n".join(part for part in parts if part)


def _rule(rule: RegressionRule) -> Iterator[str]:
    """Which were run, and by what that was decided."""
    if rule.mode == "all":
        yield phrase("All {ran} were run: it is set here to run all of them always.", ran=rule.ran)
        return
    if rule.environment_changed:
        changed = phrase("leaves another environment than it found")
    else:
        changed = phrase("leaves the environment as it found it")
    yield phrase(
        "Run: {ran}; stood: {stood}. The skill {changed} ({digest}). A result stands as long as "
        "nothing that it rests on has changed: the skill, its tasks, the environment, models, "
        "prompts, and skills that could be taken for it.",
        ran=rule.ran,
        stood=rule.stood,
        changed=changed,
        digest=f"`{rule.environment_digest[:12]}`",
    )


def _how(regression: RegressionReport) -> str:
    if regression.stood:
        when = f"{regression.tested_at:%Y-%m-%d}" if regression.tested_at else NOTHING
        which = f"`{regression.tested_in}`" if regression.tested_in else NOTHING
        return phrase(
            "stood: nothing changed since the result of {when} (validation {which})",
            when=when,
            which=which,
        )
    why = ", ".join(phrase(CHANGED[cause]) for cause in regression.run_because)
    return phrase("run: {why}", why=why) if why else phrase("run again")


def _row(regression: RegressionReport) -> tuple[str, str, str, str]:
    grades = ", ".join(
        f"{task.task_id} {task.grade} ({task.grade_before or NOTHING})" for task in regression.tasks
    )
    result = phrase("passed") if regression.passed else f"**{phrase('failed')}**"
    return quoted(regression.skill_name), result, _how(regression), grades


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
