"""The control: the tasks of the online run once more, without the skill under test.

It runs beside everything else in the background lane. Nothing waits for it but a policy that
demands a lift, and its failure is never the validation's.
"""

from typing import Final

from assay_contracts.base import Failure, Model, ModelUse, Result
from assay_contracts.grades import RunGraded
from assay_contracts.reports import ControlReport, ControlTask, LiftEffect
from assay_contracts.runs import RunFinished

MEASURABLE: Final = 0.5
"""Mean difference, in grades, below which grades are not told apart."""


class Control(Model):
    """How far the control has come."""

    run: RunFinished | None = None
    graded: RunGraded | None = None
    failure: str | None = None
    """Why it was given up."""

    @property
    def models(self) -> tuple[ModelUse, ...]:
        uses = (step.model for step in (self.run, self.graded) if step)
        return tuple(use for use in uses if use)

    def with_result(self, result: Result) -> "Control":
        """With what a worker found."""
        if isinstance(result, RunFinished):
            # The online run tells what was installed.
            lean = result.model_copy(update={"packages_before": (), "packages_after": ()})
            return self.model_copy(update={"run": lean})
        return self.model_copy(update={"graded": result})

    def failed(self, failure: Failure) -> "Control":
        """Given up for good."""
        return self.model_copy(update={"failure": f"{failure.category}: {failure.reason}"})

    def compared_with(self, graded: RunGraded | None) -> ControlReport:
        """The grades with the skill and without it, or why there are none."""
        without = {each.task_id: each.grade for each in self.graded.grades} if self.graded else {}
        tasks = tuple(
            ControlTask(task_id=each.task_id, grade=each.grade, grade_without=without[each.task_id])
            for each in (graded.grades if graded else ())
            if each.task_id in without
        )
        if not tasks:
            missing = self.failure or "it was not done when the verdict stood"
            return ControlReport(missing=missing)
        mean = sum(task.grade - task.grade_without for task in tasks) / len(tasks)
        lift = round(mean, 2)
        return ControlReport(tasks=tasks, lift=lift, effect=effect_of(lift))


def effect_of(lift: float) -> LiftEffect:
    if lift <= -MEASURABLE:
        return "worse"
    return "nothing_measurable" if lift < MEASURABLE else "adds"
