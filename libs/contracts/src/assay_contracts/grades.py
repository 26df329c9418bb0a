"""The judge's grade for each task of a run."""

from typing import ClassVar, Final

from pydantic import Field

from assay_contracts.base import Model, ModelUse, Result, Work
from assay_contracts.runs import RunKind, TaskOutcome
from assay_contracts.tasks import Task, TaskId

RUBRIC_VERSION = "rubric-1"

BEST_GRADE: Final = 5
"""Done, and usable as it is."""
DONE_GRADE: Final = 4
"""Done, with a small flaw: the lowest grade of a task that counts as done."""
PARTLY_DONE_GRADE: Final = 3
"""The lowest grade of a task that counts as done in part; below it, mostly not or not at all."""


def is_done(grade: int) -> bool:
    """The one rule of what counts as done."""
    return grade >= DONE_GRADE


def points(grade: int) -> int:
    """1 to 5 as 0 to 100."""
    return (grade - 1) * 25


class Evidence(Model):
    """A quotation from the trace."""

    quote: str = Field(min_length=1, max_length=1000)
    source: str
    """Where it stands: `step 3 output`, `check 1`, `answer`."""


class Lowering(Model):
    """A rule by which code holds a grade down, because of what it saw of the result."""

    rule: str
    """Its id in the table of ceilings."""
    at_most: int = Field(ge=1, le=BEST_GRADE)
    reason: str


class ContestedCheck(Model):
    """A check that the judge holds to be wrong."""

    check: int = Field(ge=1)
    """Its number, from 1, among the task's checks."""
    reason: str = Field(max_length=1000)
    left_out: bool
    """Code agrees, for the check fails on a right result too: it holds no grade down."""


class Grade(Model):
    """1 to 5 for one task, with what it rests on."""

    task_id: TaskId
    grade: int = Field(ge=1, le=BEST_GRADE)
    reasons: str = Field(min_length=1, max_length=4000)
    evidence: tuple[Evidence, ...] = Field(min_length=1)
    samples: tuple[int, ...] = ()
    """Every sample's grade when several were taken; `grade` is their median."""
    judge_grade: int | None = Field(default=None, ge=1, le=BEST_GRADE)
    """What the judge itself gave; none in grades from before this was kept."""
    lowered_by: tuple[Lowering, ...] = ()
    """Why `grade` is less than that."""
    contested_checks: tuple[ContestedCheck, ...] = ()

    @property
    def explanation(self) -> str:
        """The judge's reasons and, where code lowered the grade, from what and why."""
        if not self.lowered_by:
            return self.reasons
        why = "; ".join(lowering.reason for lowering in self.lowered_by)
        return f"{self.reasons} Lowered from {self.judge_grade} to {self.grade}: {why}."


class RunGraded(Result):
    """The run's tasks are graded."""

    SUBJECT: ClassVar[str] = "run.graded"

    grades: tuple[Grade, ...] = ()
    model: ModelUse | None = None
    judge_trace: str | None = None
    """Key in the `judging` bucket: what the judge's agents did, for as long as it is kept there."""
    rubric_version: str = RUBRIC_VERSION


class GradingRequested(Work):
    """Grade the tasks of one finished run."""

    SUBJECT: ClassVar[str] = "grading.requested"
    RESULT = RunGraded

    run_kind: RunKind
    tasks: tuple[Task, ...]
    outcomes: tuple[TaskOutcome, ...]
