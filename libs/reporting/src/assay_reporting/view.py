"""What every form of a report says, worked out once; a renderer adds only how it looks.

Scores are shown in the order of the table in the contracts. Units: seconds, points of 100.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from assay_contracts.attribution import AttributionKind, counted_grade
from assay_contracts.base import ModelUse, Role
from assay_contracts.confidence import RepeatCause, RepeatsMissing
from assay_contracts.grades import BEST_GRADE, Grade
from assay_contracts.reports import (
    ControlReport,
    RegressionCause,
    RegressionReport,
    RegressionTask,
    Report,
    RunReport,
    TriggerReport,
)
from assay_contracts.runs import (
    NetworkCall,
    NetworkCause,
    RunKind,
    TaskOutcome,
)
from assay_contracts.scores import DIMENSIONS, ScoreDimension, Scores
from assay_contracts.skills import Finding
from assay_reporting.language import phrase

NOTHING: Final = "–"
"""Stands where there is nothing to show."""
CAUSES: Final[Mapping[NetworkCause | None, str]] = {
    "skill": "the skill",
    "package_manager": "a package manager",
    "agent": "the agent's own idea",
}
"""Whose doing a network call was."""

CHANGED: Final[Mapping[RegressionCause, str]] = {
    "never_tested": "there was no result yet",
    "failed_before": "its last result was a failure",
    "skill": "the skill has changed",
    "tasks": "its tasks have changed",
    "environment": "the environment has changed",
    "models": "models have changed",
    "prompts": "prompts or the rubric have changed",
    "neighbours": "a skill that could be taken for it came or went",
    "over_broad": "the new skill was chosen for what it is not for",
    "all_demanded": "all are run always",
}
"""Why an approved skill was run again."""
REPEATED: Final[Mapping[RepeatCause, str]] = {
    "near_completion_mark": "completion lay close to the mark of the online run",
    "near_pass_mark": "the overall score lay close to the mark",
    "graders_apart": "the grades of one result lay more than one apart",
    "full_test": "a full test measures how steady a skill is",
}
"""Why tasks were repeated."""
NOT_REPEATED: Final[Mapping[RepeatsMissing, str]] = {
    "rehearsal": "no LLM took part, and a rehearsal gives the same each time",
    "switched_off": "repeats are switched off",
    "no_time": "there was no time left",
    "failed": "the repeats could not be carried out",
}
"""Why they were not, where it could have changed the verdict."""


# -- scores -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRow:
    name: str
    weight: int
    """Percent of the overall score."""
    value: float | None
    text: str
    """One decimal, or why there is none."""
    note: str = ""
    """What has to be said beside it."""


def score_rows(scores: Scores) -> tuple[ScoreRow, ...]:
    """One for each dimension."""
    return tuple(_score_row(dimension, scores.of(dimension)) for dimension in DIMENSIONS)


def overall_row(scores: Scores) -> ScoreRow:
    return ScoreRow(
        name=phrase("overall"), weight=100, value=scores.overall, text=points_text(scores.overall)
    )


def points_text(value: float) -> str:
    return f"{value:.1f}"


def _score_row(dimension: ScoreDimension, value: float | None) -> ScoreRow:
    is_low = value is not None and dimension.pass_mark is not None and value < dimension.pass_mark
    has_note = is_low and dimension.note_when_low
    return ScoreRow(
        name=phrase(dimension.name),
        weight=dimension.weight,
        value=value,
        text=phrase(dimension.absent) if value is None else points_text(value),
        note=f"{phrase(dimension.note_when_low)} {dimension.pass_mark:g}" if has_note else "",
    )


# -- runs, tasks and grades ---------------------------------------------------------------------


def run_of(report: Report, kind: RunKind) -> RunReport | None:
    return next((run for run in report.runs if run.kind == kind), None)


def run_title(run: RunReport) -> str:
    return phrase(f"{run.kind} run")


def prompt_of(report: Report, task_id: str) -> str:
    return next((task.prompt for task in report.tasks if task.task_id == task_id), "")


def outcome_of(run: RunReport, task_id: str) -> TaskOutcome | None:
    return next((outcome for outcome in run.outcomes if outcome.task_id == task_id), None)


def grade_of(run: RunReport, task_id: str) -> Grade | None:
    return next((grade for grade in run.grades if grade.task_id == task_id), None)


def grade_title(grade: Grade | None) -> str:
    """`grade 4 of 5`, and the judge's own where code lowered it."""
    if grade is None:
        return phrase("not graded")
    return phrase("grade {grade}", grade=grade_cell(grade))


def grade_cell(grade: Grade | None) -> str:
    """`4 of 5`, for a table; `2 of 5 (judge: 5)` where code lowered it."""
    if grade is None:
        return NOTHING
    own = phrase("(judge: {grade})", grade=grade.judge_grade) if grade.lowered_by else ""
    return f"{of_best(grade.grade)} {own}".rstrip()


def of_best(grade: int) -> str:
    """`4 of 5`."""
    return phrase("{grade} of {best}", grade=grade, best=BEST_GRADE)


PART_OF_THE_SKILL: Final[Mapping[AttributionKind, str]] = {
    "with": "done with the skill",
    "around": "done around the skill, whose programs failed",
    "without": "done without the skill",
}


def part_text(outcome: TaskOutcome, skill: str) -> str:
    """What part the skill had; older data tells only whether it was used."""
    if outcome.attribution is None:
        used = outcome.used(skill)
        return phrase("used the skill") if used else phrase("did not use the skill")
    return phrase(PART_OF_THE_SKILL[outcome.attribution.kind])


def counted_text(run: RunReport, outcome: TaskOutcome, grade: Grade | None) -> str:
    """What the grade counts for completion, where that is less than it is; else empty."""
    if grade is None or run.kind != "online":
        return ""
    counted = counted_grade(grade.grade, outcome.attribution)
    return phrase("counts as {grade}", grade=counted) if counted < grade.grade else ""


def commands_text(outcome: TaskOutcome) -> str:
    if outcome.commands == 1:
        return phrase("1 command")
    return phrase("{count} commands", count=outcome.commands)


def uncompleted(regression: RegressionReport) -> tuple[RegressionTask, ...]:
    """The tasks that an approved skill no longer completes."""
    return tuple(task for task in regression.tasks if not task.completed)


def version_text(version: str | None) -> str:
    """The version of a package, or that it is not there."""
    return version or phrase("nothing")


def finding_title(finding: Finding) -> str:
    return phrase(f"format {finding.severity}")


# -- trigger and lift ---------------------------------------------------------------------------


def precision_text(found: TriggerReport) -> str:
    """`1 of 2`: near misses for which the skill stayed silent."""
    return phrase("{part} of {all}", part=found.silent, all=len(found.near_misses))


def is_over_broad(found: TriggerReport) -> bool:
    """Whether the skill was chosen for something that it is not for."""
    return found.silent < len(found.near_misses)


def lift_text(control: ControlReport) -> str:
    """What the skill does for the grades of its tasks, as the end of a sentence about it."""
    if control.lift is None or control.effect is None:
        return phrase("was not compared with working without it")
    difference = f"{control.lift:+g}"
    match control.effect:
        case "adds":
            return phrase("adds {lift} to the grade on average", lift=f"{control.lift:g}")
        case "worse":
            return phrase("makes it worse ({lift} of a grade on average)", lift=difference)
        case "nothing_measurable":
            return phrase("adds nothing measurable ({lift} of a grade on average)", lift=difference)


# -- network calls ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class CallsShown:
    calls: tuple[NetworkCall, ...]
    total: int
    """How many were attempted, shown or not."""

    counted: int
    """How many of them the score counts."""

    @property
    def more(self) -> int:
        return self.total - len(self.calls)


def calls_shown(run: RunReport, at_most: int) -> CallsShown:
    """The first of them, those that the score counts before others."""
    calls = sorted(run.network_calls, key=lambda call: not is_scored(run, call))
    return CallsShown(
        calls=tuple(calls[:at_most]),
        total=run.network_calls_attempted,
        counted=run.network_calls_counted if run.kind == "offline" else 0,
    )


def is_scored(run: RunReport, call: NetworkCall) -> bool:
    """Whether the offline score counts it: calls of other runs are only listed."""
    return run.kind == "offline" and call.counts


def cause_text(call: NetworkCall) -> str:
    return phrase(CAUSES[call.cause]) if call.cause in CAUSES else NOTHING


def attempts_text(call: NetworkCall) -> str:
    """`6 attempts`, or nothing where it was tried once."""
    return phrase("{count} attempts", count=call.attempts) if call.attempts > 1 else ""


def made_by(call: NetworkCall) -> str:
    """The program that made it, or else the agent's command."""
    return call.program or call.command


def is_watched(run: RunReport) -> bool:
    """Whether network calls were counted."""
    return run.sandbox is not None and run.sandbox.is_watched


# -- models and times ---------------------------------------------------------------------------


def only_rehearsed(models: Iterable[ModelUse]) -> bool:
    """Whether models took part, and none of them was an LLM."""
    uses = tuple(models)
    return bool(uses) and all(use.is_rehearsal for use in uses)


def seconds_taken(report: Report) -> float:
    """From its start, or else from when it was queued; clocks of two machines may differ."""
    began = report.started_at or report.queued_at
    return max((report.completed_at - began).total_seconds(), 0.0)


def model_seconds(report: Report) -> float:
    return sum(use.seconds for use in report.models)


def money_text(money: float | None, currency: str) -> str:
    """`0.0421 USD`, or that it is not known."""
    return phrase("not known") if money is None else f"{money:.4f} {currency}"


def command_seconds(report: Report) -> float:
    return sum(run.timings.commands for run in report.runs if run.timings)


def seconds_text(seconds: float) -> str:
    return phrase("{seconds} s", seconds=f"{seconds:.1f}")


def role_text(role: Role) -> str:
    return phrase(role)
