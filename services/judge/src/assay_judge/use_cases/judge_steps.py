"""What all jobs of the judge share."""

from assay_agentkit.failures import AgentFailed
from assay_contracts.base import Failure, Work
from assay_contracts.runs import JudgeTrace
from assay_judge.ports import JudgeTraces


async def keep_trace(traces: JudgeTraces, request: Work, trace: JudgeTrace) -> str | None:
    """Keep what the agents did beside answering; the key, or none where that was nothing.

    Raises:
        StoreFailed: it could not be kept.
    """
    if not any(agent.steps or agent.refused for agent in trace.agents):
        return None
    key = f"{request.step_id}/{request.attempt}.json"
    await traces.keep(key, trace)
    return key


def failure_of(work: str, failed: AgentFailed) -> Failure:
    """What the agents' failure makes of the work."""
    return Failure.of(failed.category, f"{work}: {failed.reason}")
