"""What the judge needs from the world."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from assay_contracts.base import ModelUse
from assay_contracts.reports import Report
from assay_contracts.runs import RunKind, Trace
from assay_contracts.skills import BundleRef
from assay_contracts.tasks import CheckResult, Task
from assay_judge.domain.bundle import SkillFiles
from assay_judge.domain.grading import GradeDraft
from assay_judge.domain.plan import PlanRules, TaskPlan
from assay_judge.domain.prose import ProseDraft

Draft_co = TypeVar("Draft_co", covariant=True)


class StoreFailed(Exception):
    """A stored object is missing or could not be read."""


class Bundles(Protocol):
    async def get(self, ref: BundleRef) -> bytes:
        """The bytes of a bundle. Raises StoreFailed."""


class Traces(Protocol):
    async def get(self, key: str) -> Trace:
        """A stored trace. Raises StoreFailed."""


class Session(Protocol[Draft_co]):
    """One conversation with an agent about one piece of work."""

    async def ask(self, complaints: Sequence[str] = ()) -> Draft_co:
        """A draft; with complaints about the one before, a better one.

        Raises:
            AgentFailed: no draft is to be had.
        """


class MeteredSession(Session[Draft_co], Protocol[Draft_co]):
    def use(self) -> ModelUse:
        """What the conversation has cost so far."""


class Graders(Protocol):
    """The graders of one run; they share one meter, since they work side by side."""

    def open(
        self, task: Task, trace: Trace, checks: Sequence[CheckResult]
    ) -> Session[GradeDraft]: ...

    def use(self) -> ModelUse:
        """What all of them have cost so far."""


class Agents(Protocol):
    """Opens conversations. Nothing is asked before the first `ask`.

    Each may use `tokens` in all, however often it is asked; none means no bound.
    """

    def planner(
        self,
        skill: SkillFiles,
        rules: PlanRules,
        task_count: int,
        *,
        known: Sequence[Task],
        tokens: int | None,
    ) -> MeteredSession[TaskPlan]: ...

    def graders(self, run_kind: RunKind, *, tokens: int | None) -> Graders: ...

    def reporter(self, report: Report, *, tokens: int | None) -> MeteredSession[ProseDraft]: ...
