"""What the judge refuses is the judge's to say: the planner is handed its rules and asks first."""

from collections.abc import Sequence
from typing import Protocol

from assay_contracts.tasks import Task


class PlanRules(Protocol):
    """The rules for tasks about one skill."""

    def leaks(self, text: str) -> Sequence[str]:
        """What the text gives away of the skill; empty when it gives nothing away."""

    def problems(
        self, tasks: Sequence[Task], *, task_count: int, known: Sequence[Task]
    ) -> Sequence[str]:
        """What is wrong with a plan of these tasks; empty when nothing is.

        Args:
            tasks: The plan.
            task_count: How many tasks it must have.
            known: Tasks there are already, which it must not repeat.
        """


class RulesFor(Protocol):
    """Makes the rules for a skill from what tasks must not say of it."""

    def __hash__(self) -> int: ...

    def __call__(
        self, *, skill_name: str, description: str, paths: tuple[str, ...]
    ) -> PlanRules: ...
