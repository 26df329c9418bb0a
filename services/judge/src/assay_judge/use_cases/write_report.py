from dataclasses import dataclass
from typing import Final

from assay_agentkit.failures import AgentFailed
from assay_contracts.base import Result
from assay_contracts.reports import ReportRequested, ReportWritten
from assay_judge.domain.prose import as_prose, prose_problems
from assay_judge.ports import Agents
from assay_judge.use_cases.drafts import ask_until_accepted, failure_of
from assay_servicekit.spending import tell_costs

_TRIES: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteReport:
    """Writes the words that go beside a report's numbers."""

    agents: Agents

    async def __call__(self, request: ReportRequested) -> Result:
        session = self.agents.reporter(request.report, tokens=request.token_budget)
        tell_costs(session.use)
        try:
            draft = await ask_until_accepted(
                session,
                lambda prose: prose_problems(prose, request.report),
                tries=_TRIES,
            )
        except AgentFailed as failed:
            return request.failed(failure_of("Report", failed))
        return ReportWritten(
            validation_id=request.validation_id,
            step_id=request.step_id,
            attempt=request.attempt,
            prose=as_prose(draft),
            model=session.use(),
        )
