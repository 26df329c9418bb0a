from dataclasses import dataclass
from typing import Final

from assay_agentkit.concurrency import run_all
from assay_agentkit.failures import AgentFailed
from assay_contracts.base import Failure, Result
from assay_contracts.grades import Grade, GradingRequested, RunGraded
from assay_contracts.runs import TaskOutcome
from assay_contracts.tasks import Task
from assay_judge.domain.grading import final_grade, grade_problems
from assay_judge.ports import Agents, Graders, StoreFailed, Traces
from assay_judge.use_cases.drafts import ask_until_accepted, failure_of
from assay_servicekit.spending import tell_costs

_TRIES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeRun:
    """Grades each task of a run from its trace."""

    traces: Traces
    agents: Agents
    samples: int
    """Grades taken for each task; their median counts."""

    async def __call__(self, request: GradingRequested) -> Result:
        tasks = {task.task_id: task for task in request.tasks}
        graders = self.agents.graders(request.run_kind, tokens=request.token_budget)
        tell_costs(graders.use)
        try:
            grades = await run_all(
                self._grade(graders, tasks[outcome.task_id], outcome)
                for outcome in request.outcomes
            )
        except StoreFailed as error:
            return request.failed(Failure.of("bus", f"A trace could not be read: {error}"))
        except AgentFailed as failed:
            return request.failed(failure_of("Grading", failed))
        return RunGraded(
            validation_id=request.validation_id,
            step_id=request.step_id,
            attempt=request.attempt,
            grades=tuple(grades),
            model=graders.use(),
        )

    async def _grade(self, graders: Graders, task: Task, outcome: TaskOutcome) -> Grade:
        trace = await self.traces.get(outcome.trace_key)
        checks = outcome.checks
        drafts = await run_all(
            ask_until_accepted(
                graders.open(task, trace, checks),
                lambda draft: grade_problems(draft, trace, checks),
                tries=_TRIES,
            )
            for _ in range(self.samples)
        )
        return final_grade(drafts, task_id=task.task_id, trace=trace, checks=checks)
