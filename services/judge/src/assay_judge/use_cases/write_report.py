from dataclasses import dataclass

from assay_agentkit.failures import AgentFailed
from assay_contracts.base import Result
from assay_contracts.reports import ReportRequested, ReportWritten
from assay_judge.domain.prose import as_prose, prose_problems
from assay_judge.ports import Agents
from assay_judge.use_cases.judge_steps import failure_of
from assay_servicekit.spending import tell_costs


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteReport:
    """Writes the words that go beside a report's numbers."""

    agents: Agents

    async def __call__(self, request: ReportRequested) -> Result:
        job = self.agents.reporting(
            request.report,
            problems_of=lambda prose: prose_problems(prose, request.report),
            tokens=request.token_budget,
        )
        tell_costs(job.use)
        try:
            draft = await job.done()
        except AgentFailed as failed:
            return request.failed(failure_of("Report", failed))
        return ReportWritten(
            validation_id=request.validation_id,
            step_id=request.step_id,
            attempt=request.attempt,
            prose=as_prose(draft),
            model=job.use(),
        )
