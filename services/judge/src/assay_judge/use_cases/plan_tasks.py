from dataclasses import dataclass

from assay_agentkit.failures import AgentFailed
from assay_contracts.base import Failure, Result
from assay_contracts.validations import ValidationPlanned, ValidationRequested
from assay_judge.domain.bundle import read_skill_files
from assay_judge.domain.drafts import as_near_misses
from assay_judge.domain.plan import rules_for
from assay_judge.ports import Agents, Bundles, JudgeTraces, PlanningBrief, StoreFailed, Workbench
from assay_judge.use_cases.judge_steps import failure_of, keep_trace
from assay_judge.use_cases.prepare_tasks import PreparedTasks
from assay_servicekit.spending import tell_costs
from assay_skillkit.bundle import BundleUnreadable
from assay_skillkit.document import parse_skill


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanTasks:
    """Writes blind tasks for a skill, and tries each before it is given to anybody."""

    bundles: Bundles
    agents: Agents
    workbench: Workbench
    traces: JudgeTraces
    needs_references: bool
    """Whether a task without a right result to try its checks on is given back."""

    async def __call__(self, request: ValidationRequested) -> Result:
        try:
            data = await self.bundles.get(request.bundle)
            skill = read_skill_files(data, ref=request.bundle, skill_name=request.skill_name)
        except (StoreFailed, BundleUnreadable) as error:
            return request.failed(Failure.of("bus", f"The skill could not be read: {error}"))
        known, count = request.known_tasks, request.task_count
        rules = rules_for(
            skill_name=skill.name,
            description=parse_skill(skill.skill_md).description,
            paths=skill.paths,
        )
        tasks = PreparedTasks(
            rules=rules,
            known=known,
            task_count=count,
            needs_reference=self.needs_references,
            workbench=self.workbench,
        )
        job = self.agents.planning(
            PlanningBrief(
                skill=skill, about_the_name=rules.about_the_name(), task_count=count, known=known
            ),
            outline_problems=lambda plan: rules.outline_problems(
                len(plan.outlines), plan.near_misses, task_count=count
            ),
            task_problems=tasks.take,
            tokens=request.token_budget,
        )
        tell_costs(job.use)
        try:
            outlines = await job.done()
            trace_key = await keep_trace(self.traces, request, job.trace())
        except AgentFailed as failed:
            return request.failed(failure_of("Planning", failed))
        except StoreFailed as error:
            return request.failed(Failure.of("bus", f"The trace could not be kept: {error}"))
        return ValidationPlanned(
            validation_id=request.validation_id,
            step_id=request.step_id,
            attempt=request.attempt,
            tasks=tasks.in_order(),
            near_misses=as_near_misses(outlines.near_misses),
            model=job.use(),
            judge_trace=trace_key,
        )
