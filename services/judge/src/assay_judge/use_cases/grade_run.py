from collections.abc import Sequence
from dataclasses import dataclass

from assay_agentkit.concurrency import run_all
from assay_agentkit.failures import AgentFailed
from assay_contracts.base import Failure, Result
from assay_contracts.grades import Grade, GradingRequested, RunGraded
from assay_contracts.runs import TaskOutcome
from assay_contracts.tasks import Task
from assay_judge.domain.grading import GradeDraft, final_grade, grade_problems
from assay_judge.ports import Agents, JudgeTraces, StoreFailed, Traces, WorkToGrade
from assay_judge.use_cases.judge_steps import failure_of, keep_trace
from assay_servicekit.spending import tell_costs


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeRun:
    """Grades each task of a run from its trace."""

    traces: Traces
    agents: Agents
    judge_traces: JudgeTraces
    samples: int
    """Grades taken for each task; their median counts."""

    async def __call__(self, request: GradingRequested) -> Result:
        tasks = {task.task_id: task for task in request.tasks}
        try:
            works = await run_all(
                self._work(tasks[outcome.task_id], outcome) for outcome in request.outcomes
            )
        except StoreFailed as error:
            return request.failed(Failure.of("bus", f"A trace could not be read: {error}"))
        asked = [work for work in works for _ in range(self.samples)]
        job = self.agents.grading(request.run_kind, asked, tokens=request.token_budget)
        tell_costs(job.use)
        try:
            drafts = await job.done()
            trace_key = await keep_trace(self.judge_traces, request, job.trace())
        except AgentFailed as failed:
            return request.failed(failure_of("Grading", failed))
        except StoreFailed as error:
            return request.failed(Failure.of("bus", f"The trace could not be kept: {error}"))
        return RunGraded(
            validation_id=request.validation_id,
            step_id=request.step_id,
            attempt=request.attempt,
            grades=tuple(
                _grade(work, drafts[place * self.samples : (place + 1) * self.samples])
                for place, work in enumerate(works)
            ),
            model=job.use(),
            judge_trace=trace_key,
        )

    async def _work(self, task: Task, outcome: TaskOutcome) -> WorkToGrade:
        trace, checks = await self.traces.get(outcome.trace_key), outcome.checks
        return WorkToGrade(
            task=task,
            trace=trace,
            checks=checks,
            problems_of=lambda draft: grade_problems(draft, trace, checks),
        )


def _grade(work: WorkToGrade, drafts: Sequence[GradeDraft]) -> Grade:
    return final_grade(drafts, task_id=work.task.task_id, trace=work.trace, checks=work.checks)
