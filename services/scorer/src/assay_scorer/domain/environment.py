"""What a validation starts from: the current runtime version and the skills approved by then."""

from uuid import UUID

from assay_contracts.base import Model, ModelUse
from assay_contracts.grades import DONE_GRADE, RunGraded, is_done
from assay_contracts.reports import RegressionCause
from assay_contracts.runs import MountedSkill, RunFinished
from assay_contracts.skills import BundleRef, Dependencies
from assay_contracts.tasks import Task, TaskId
from assay_scorer.domain.hindrances import Hindered, hindered_tasks
from assay_scorer.domain.results import StoredResult


def version_label(number: int) -> str:
    return f"v1.{number}"


class ApprovedSkill(Model):
    """A skill that agents may use, and the tasks it was approved by."""

    skill_id: UUID
    name: str
    bundle: BundleRef
    tasks: tuple[Task, ...]
    grades: dict[TaskId, int]
    """Of each task in the offline run of the validation it was approved by."""
    dependencies: Dependencies = Dependencies()
    """As it declares them."""
    description: str = ""
    """By which agents find it; empty in environments from before this was kept."""
    time_limit_s: float


def completed(skill: ApprovedSkill, task_id: TaskId, grade: int) -> bool:
    """Whether a task is done: well, or no worse than when the skill was approved."""
    return is_done(grade) or grade >= skill.grades.get(task_id, DONE_GRADE)


def failed_tasks(
    skill: ApprovedSkill, run: RunFinished | None, graded: RunGraded | None
) -> tuple[TaskId, ...]:
    """The tasks that were not completed, or only around the skill; nothing before it is graded."""
    grades = graded.grades if graded else ()
    around = _done_around(run)
    return tuple(
        grade.task_id
        for grade in grades
        if grade.task_id in around or not completed(skill, grade.task_id, grade.grade)
    )


def _done_around(run: RunFinished | None) -> frozenset[TaskId]:
    """The tasks in which the skill's programs failed and the agent made do."""
    outcomes = run.outcomes if run else ()
    return frozenset(
        each.task_id
        for each in outcomes
        if each.attribution and each.attribution.kind == "around" and each.shows != "nothing"
    )


class Environment(Model):
    runtime_version: int = 0
    """`n` of `v1.n`; 0 is the base."""
    snapshot: str | None = None
    """None for the base."""
    without: tuple[str, ...] = ()
    """Skills that led to that version and are gone: their parts of it are left out."""
    approved: tuple[ApprovedSkill, ...] = ()

    def approved_as(self, name: str) -> ApprovedSkill:
        """The approved skill of that name, which is one of them."""
        return next(skill for skill in self.approved if skill.name == name)

    def mounted_without(self, name: str) -> tuple[MountedSkill, ...]:
        """Every approved skill but the one of that name."""
        others = (skill for skill in self.approved if skill.name != name)
        return tuple(MountedSkill(name=skill.name, bundle=skill.bundle) for skill in others)

    def mounted(self, name: str, bundle: BundleRef) -> tuple[MountedSkill, ...]:
        """Every approved skill, and the one under test under its name."""
        return (*self.mounted_without(name), MountedSkill(name=name, bundle=bundle))


class Regression(Model):
    """An approved skill tested again on the candidate."""

    skill: ApprovedSkill
    stood: StoredResult | None = None
    """The result that stands, where nothing that it rests on has changed: nothing is run."""
    run_because: tuple[RegressionCause, ...] = ()
    """Otherwise: what has changed."""
    run: RunFinished | None = None
    graded: RunGraded | None = None

    @property
    def is_known(self) -> bool:
        """Whether it is known how the skill fares."""
        return self.stood is not None or self.graded is not None

    @property
    def failed_tasks(self) -> tuple[TaskId, ...]:
        """The stored tasks that are no longer completed; nothing before it is graded."""
        return failed_tasks(self.skill, self.run, self.graded)

    @property
    def hindered(self) -> tuple[Hindered, ...]:
        """Those of them that a limit of ours stood in the way of."""
        failed = self.failed_tasks
        found = hindered_tasks("regression", self.run, self.graded.grades if self.graded else ())
        return tuple(each for each in found if each.task_id in failed)

    @property
    def is_broken(self) -> bool:
        """Whether a task is no longer completed, for no fault of ours."""
        return len(self.hindered) < len(self.failed_tasks)

    @property
    def models(self) -> tuple[ModelUse, ...]:
        uses = (self.run.model if self.run else None, self.graded.model if self.graded else None)
        return tuple(use for use in uses if use is not None)
