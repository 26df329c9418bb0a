"""Taking the tasks of one plan in: each is tried out before it is believed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from assay_contracts.tasks import Task
from assay_contracts.workbench import TryChecks
from assay_judge.domain.drafts import TaskDraft, file_problems, first_number, prepared
from assay_judge.domain.plan import PlanRules
from assay_judge.domain.trials import (
    tells_apart,
    trial_problems,
    with_trials,
    without_wrong_checks,
)
from assay_judge.ports import Workbench


@dataclass(slots=True, kw_only=True)
class PreparedTasks:
    """The tasks of a plan, as far as they are there."""

    rules: PlanRules
    known: Sequence[Task]
    """Tasks there are already."""
    task_count: int
    needs_reference: bool
    workbench: Workbench
    _tasks: dict[int, Task] = field(default_factory=dict)

    def in_order(self) -> tuple[Task, ...]:
        return tuple(task for _, task in sorted(self._tasks.items()))

    async def take(
        self, number: int, draft: TaskDraft, made: Mapping[str, bytes], *, is_last_try: bool
    ) -> Sequence[str]:
        """What is wrong with the draft of the task of that place; nothing, when it was taken in.

        Raises:
            AgentFailed: its checks cannot be tried.
        """
        problems = [*file_problems(draft, made, needs_reference=self.needs_reference)]
        if problems:
            return problems
        ready = prepared(draft, made, number=first_number(self.known) + number - 1)
        others = [*self.known, *(task for n, task in self._tasks.items() if n != number)]
        if refused := self.rules.task_problems(
            ready.task, others=others, task_count=self.task_count
        ):
            return refused
        # Others that are prepared at the same time must be unlike it.
        self._tasks[number] = ready.task
        tried = await self.workbench.try_checks(
            TryChecks(inputs=ready.task.files, checks=ready.task.checks, reference=ready.reference)
        )
        task = ready.task
        problems = trial_problems(task, tried)
        if problems and is_last_try:
            task, tried = without_wrong_checks(task, tried)
            if tells_apart(task, tried.on_inputs, tried.on_reference):
                problems = []
        if problems:
            del self._tasks[number]
        else:
            self._tasks[number] = with_trials(task, tried)
        return problems
