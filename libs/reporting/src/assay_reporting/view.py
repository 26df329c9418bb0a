"""What every form of a report says, worked out once; a renderer adds only how it looks.

Scores are shown in the order of the table in the contracts. Units: seconds, points of 100.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from assay_contracts.grades import BEST_GRADE, Grade
from assay_contracts.reports import RegressionReport, RegressionTask, Report, RunReport
from assay_contracts.runs import (
    ModelUse,
    NetworkCall,
    RunKind,
    TaskOutcome,
)
from assay_contracts.scores import DIMENSIONS, ScoreDimension, Scores
from assay_contracts.skills import Finding

NOTHING: Final = "–"
"""Stands where there is nothing to show."""


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
        name="overall", weight=100, value=scores.overall, text=points_text(scores.overall)
    )


def points_text(value: float) -> str:
    return f"{value:.1f}"


def _score_row(dimension: ScoreDimension, value: float | None) -> ScoreRow:
    is_low = value is not None and dimension.pass_mark is not None and value < dimension.pass_mark
    has_note = is_low and dimension.note_when_low
    return ScoreRow(
        name=dimension.name,
        weight=dimension.weight,
        value=value,
        text=dimension.absent if value is None else points_text(value),
        note=f"{dimension.note_when_low} {dimension.pass_mark:g}" if has_note else "",
    )


# -- runs, tasks and grades ---------------------------------------------------------------------


def run_of(report: Report, kind: RunKind) -> RunReport | None:
    return next((run for run in report.runs if run.kind == kind), None)


def run_title(run: RunReport) -> str:
    return f"{run.kind} run"


def prompt_of(report: Report, task_id: str) -> str:
    return next((task.prompt for task in report.tasks if task.task_id == task_id), "")


def outcome_of(run: RunReport, task_id: str) -> TaskOutcome | None:
    return next((outcome for outcome in run.outcomes if outcome.task_id == task_id), None)


def grade_of(run: RunReport, task_id: str) -> Grade | None:
    return next((grade for grade in run.grades if grade.task_id == task_id), None)


def grade_title(grade: Grade | None) -> str:
    """`grade 4 of 5`."""
    return "not graded" if grade is None else f"grade {grade_cell(grade)}"


def grade_cell(grade: Grade | None) -> str:
    """`4 of 5`, for a table."""
    return NOTHING if grade is None else f"{grade.grade} of {BEST_GRADE}"


def commands_text(outcome: TaskOutcome) -> str:
    return f"{outcome.commands} command{'' if outcome.commands == 1 else 's'}"


def uncompleted(regression: RegressionReport) -> tuple[RegressionTask, ...]:
    """The tasks that an approved skill no longer completes."""
    return tuple(task for task in regression.tasks if not task.completed)


def version_text(version: str | None) -> str:
    """The version of a package, or that it is not there."""
    return version or "nothing"


def finding_title(finding: Finding) -> str:
    return f"format {finding.severity}"


# -- network calls ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class CallsShown:
    calls: tuple[NetworkCall, ...]
    total: int
    """How many were attempted, shown or not."""

    @property
    def more(self) -> int:
        return self.total - len(self.calls)


def calls_shown(run: RunReport, at_most: int) -> CallsShown:
    return CallsShown(calls=run.network_calls[:at_most], total=run.network_calls_attempted)


def is_watched(run: RunReport) -> bool:
    """Whether network calls were counted: they are only where there is no network."""
    return run.sandbox is not None and run.sandbox.network == "blocked"


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


def command_seconds(report: Report) -> float:
    return sum(run.timings.commands for run in report.runs if run.timings)


def seconds_text(seconds: float) -> str:
    return f"{seconds:.1f} s"
