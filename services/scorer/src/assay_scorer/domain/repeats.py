"""Tasks of the online run that are done once more, because one try may not be enough."""

from datetime import datetime

from assay_contracts.base import Model, ModelUse
from assay_contracts.confidence import RepeatCause
from assay_contracts.grades import RunGraded
from assay_contracts.runs import RunFinished
from assay_contracts.tasks import TaskId


class Repeat(Model):
    """One more try of the tasks in question."""

    number: int
    """From 1."""
    run: RunFinished | None = None
    graded: RunGraded | None = None
    """None for good where it could not be carried out."""

    @property
    def models(self) -> tuple[ModelUse, ...]:
        uses = (self.run.model if self.run else None, self.graded.model if self.graded else None)
        return tuple(use for use in uses if use is not None)


class Repeats(Model):
    """All of them, side by side."""

    cause: RepeatCause
    task_ids: tuple[TaskId, ...]
    began_at: datetime
    tries: tuple[Repeat, ...]

    @property
    def done(self) -> tuple[tuple[RunFinished, RunGraded], ...]:
        """Those that were carried out and graded."""
        return tuple((each.run, each.graded) for each in self.tries if each.run and each.graded)

    def with_result(self, number: int | None, result: RunFinished | RunGraded) -> "Repeats":
        if isinstance(result, RunFinished):
            # The first run tells what was installed.
            lean = {"packages_before": (), "packages_after": ()}
            update: dict[str, object] = {"run": result.model_copy(update=lean)}
        else:
            update = {"graded": result}
        tries = tuple(
            each.model_copy(update=update) if each.number == number else each for each in self.tries
        )
        return self.model_copy(update={"tries": tries})
