"""What the judge needs from the world."""

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from assay_contracts.base import ModelUse
from assay_contracts.reports import Report
from assay_contracts.runs import JudgeTrace, RunKind, Trace
from assay_contracts.skills import BundleRef
from assay_contracts.tasks import CheckResult, Task, TaskFile
from assay_contracts.workbench import ChecksTried, CommandRan, TryChecks
from assay_judge.domain.bundle import SkillFiles
from assay_judge.domain.drafts import TaskDraft, TaskOutlines
from assay_judge.domain.grading import GradeDraft
from assay_judge.domain.prose import ProseDraft

Draft_contra = TypeVar("Draft_contra", contravariant=True)
Answer_co = TypeVar("Answer_co", covariant=True)


class StoreFailed(Exception):
    """A stored object is missing, or could not be read or written."""


class Bundles(Protocol):
    async def get(self, ref: BundleRef) -> bytes:
        """The bytes of a bundle. Raises StoreFailed."""


class Traces(Protocol):
    async def get(self, key: str) -> Trace:
        """A stored trace. Raises StoreFailed."""


class JudgeTraces(Protocol):
    async def keep(self, key: str, trace: JudgeTrace) -> None:
        """Raises StoreFailed."""


class Workbench(Protocol):
    """Where planners try things out: nothing that it does happens in this process."""

    async def run(self, command: str, files: Sequence[TaskFile], *, seconds: float) -> CommandRan:
        """Raises AgentFailed: no sandbox is to be had."""

    async def try_checks(self, question: TryChecks) -> ChecksTried:
        """Raises AgentFailed: no sandbox is to be had."""


class ProblemsOf(Protocol[Draft_contra]):
    """Says what is wrong with a draft; nothing, when it will do."""

    def __call__(self, draft: Draft_contra) -> Sequence[str]: ...


class ProblemsOfTask(Protocol):
    def __call__(
        self, number: int, draft: TaskDraft, made: Mapping[str, bytes], *, is_last_try: bool
    ) -> Awaitable[Sequence[str]]:
        """What is wrong with the draft of the task of that place, counted from 1.

        Args:
            number: Of the outline that it is made from.
            draft: As its agent wrote it.
            made: The files that the agent made in the sandbox.
            is_last_try: Better a task with fewer checks than none.

        Raises:
            AgentFailed: it cannot be tried.
        """


class Job(Protocol[Answer_co]):
    """One piece of work with the judge's agents. Nothing is asked before it is awaited."""

    async def done(self) -> Answer_co:
        """The drafts that will do.

        Raises:
            AgentFailed: they are not to be had.
        """

    def use(self) -> ModelUse:
        """What it has cost so far."""

    def trace(self) -> JudgeTrace:
        """What every agent did so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanningBrief:
    """What is asked of the planner."""

    skill: SkillFiles
    about_the_name: str
    """The rule about the skill's name, as it is applied."""
    task_count: int
    known: tuple[Task, ...]
    """Tasks there are already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkToGrade:
    """What was done about one task."""

    task: Task
    trace: Trace
    checks: tuple[CheckResult, ...]
    problems_of: ProblemsOf[GradeDraft]


class Agents(Protocol):
    """Gives the agents work. Each job may use `tokens` in all; none means no bound."""

    def planning(
        self,
        brief: PlanningBrief,
        *,
        outline_problems: ProblemsOf[TaskOutlines],
        task_problems: ProblemsOfTask,
        tokens: int | None,
    ) -> Job[TaskOutlines]: ...

    def grading(
        self, run_kind: RunKind, works: Sequence[WorkToGrade], *, tokens: int | None
    ) -> Job[Sequence[GradeDraft]]: ...

    def reporting(
        self, report: Report, *, problems_of: ProblemsOf[ProseDraft], tokens: int | None
    ) -> Job[ProseDraft]: ...
