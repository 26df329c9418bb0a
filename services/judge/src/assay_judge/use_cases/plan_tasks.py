from dataclasses import dataclass
from typing import Final

from assay_agentkit.failures import AgentFailed
from assay_contracts.base import Failure, Result
from assay_contracts.validations import ValidationPlanned, ValidationRequested
from assay_judge.domain.bundle import read_skill_files
from assay_judge.domain.plan import as_near_misses, as_tasks, rules_for
from assay_judge.ports import Agents, Bundles, StoreFailed
from assay_judge.use_cases.drafts import ask_until_accepted, failure_of
from assay_servicekit.spending import tell_costs
from assay_skillkit.bundle import BundleUnreadable
from assay_skillkit.document import parse_skill

_TRIES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanTasks:
    """Writes blind tasks for a skill."""

    bundles: Bundles
    agents: Agents

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
        session = self.agents.planner(skill, rules, count, known=known, tokens=request.token_budget)
        tell_costs(session.use)
        try:
            plan = await ask_until_accepted(
                session,
                lambda draft: (
                    *rules.problems(draft.tasks, task_count=count, known=known),
                    *rules.near_miss_problems(draft.near_misses),
                ),
                tries=_TRIES,
            )
        except AgentFailed as failed:
            return request.failed(failure_of("Planning", failed))
        return ValidationPlanned(
            validation_id=request.validation_id,
            step_id=request.step_id,
            attempt=request.attempt,
            tasks=as_tasks(plan, known),
            near_misses=as_near_misses(plan),
            model=session.use(),
        )
