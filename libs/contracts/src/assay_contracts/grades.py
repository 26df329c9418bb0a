"""The judge's grade for each task of a run."""

from typing import ClassVar

from pydantic import Field

from assay_contracts.base import Model, Result, Work
from assay_contracts.runs import ModelUse, RunKind, TaskOutcome
from assay_contracts.tasks import Task, TaskId

RUBRIC_VERSION = "rubric-1"


class Evidence(Model):
    """A quotation from the trace."""

    quote: str = Field(min_length=1, max_length=1000)
    source: str
    """Where it stands: `step 3 output`, `check 1`, `answer`."""


class Grade(Model):
    """1 to 5 for one task, with what it rests on."""

    task_id: TaskId
    grade: int = Field(ge=1, le=5)
    reasons: str = Field(min_length=1, max_length=4000)
    evidence: tuple[Evidence, ...] = Field(min_length=1)
    samples: tuple[int, ...] = ()
    """Every sample's grade when several were taken; `grade` is their median."""


class RunGraded(Result):
    """The run's tasks are graded."""

    SUBJECT: ClassVar[str] = "run.graded"

    grades: tuple[Grade, ...] = ()
    model: ModelUse | None = None
    rubric_version: str = RUBRIC_VERSION


class GradingRequested(Work):
    """Grade the tasks of one finished run."""

    SUBJECT: ClassVar[str] = "grading.requested"
    RESULT = RunGraded

    run_kind: RunKind
    tasks: tuple[Task, ...]
    outcomes: tuple[TaskOutcome, ...]
