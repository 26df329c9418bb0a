"""Asking an agent until its draft will do: what all three jobs share."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from assay_agentkit.failures import AgentFailed
from assay_contracts.base import Failure
from assay_judge.ports import Session

T = TypeVar("T")


async def ask_until_accepted(
    session: Session[T], problems_of: Callable[[T], Sequence[str]], *, tries: int
) -> T:
    """The first draft without problems; each new try is told what was wrong with the last.

    Raises:
        AgentFailed: none had after `tries`, or the agent failed.
    """
    problems: Sequence[str] = ()
    for _ in range(tries):
        draft = await session.ask(problems)
        problems = problems_of(draft)
        if not problems:
            return draft
    raise AgentFailed(
        "model", f"The model's answer was refused {tries} times, last for: {' '.join(problems)}"
    )


def failure_of(work: str, failed: AgentFailed) -> Failure:
    """What the agent's failure makes of the work."""
    return Failure.of(failed.category, f"{work}: {failed.reason}")
