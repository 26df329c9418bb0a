"""What the judge's agents are asked, for as long as they are at it.

The graph is built once and serves any number of jobs at once; what differs from job to job is
found through two context variables, which every task that a graph starts inherits.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final, Literal

from deepagents.backends.protocol import BackendProtocol
from pydantic import BaseModel

from assay_agentkit.meter import ModelMeter
from assay_contracts.runs import JudgeSteps, JudgeTrace, TraceStep

SubAgentName = Literal["task-preparer", "grader", "reporter"]
Request = str | list[str | dict[str, object]]
"""Words, or words and pictures in LangChain's content blocks."""

TRIES: Final = 3
"""How often an agent may give a draft before its work is given up."""


@dataclass(slots=True, kw_only=True)
class Assignment:
    """One thing that one agent is asked, and how far it has come."""

    agent: SubAgentName | Literal["judge"]
    about: str
    request: Request
    files: BackendProtocol
    """What its file tools and commands see."""
    problems_of: Callable[[BaseModel], Awaitable[Sequence[str]]]
    """What is wrong with a draft; nothing, when it will do."""
    accepted: BaseModel | None = None
    refused: list[str] = field(default_factory=list)
    steps: list[TraceStep] = field(default_factory=list)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by the tool call that is being carried out."""

    @property
    def is_last_try(self) -> bool:
        return len(self.refused) + 1 >= TRIES


@dataclass(slots=True, kw_only=True)
class Job:
    """One piece of the judge's work: what the main agent is asked, if anything, then the others."""

    own: Assignment | None = None
    """What the main agent itself has to answer before anybody else is asked."""
    follow_up: Callable[[BaseModel], Sequence[Assignment]] | None = None
    """From the main agent's answer to what the sub-agents are asked."""
    assignments: list[Assignment] = field(default_factory=list)
    handed_out: bool = False
    meter: ModelMeter
    tokens: int | None
    seconds: float
    """Longest that one assignment may take."""

    def all_assignments(self) -> list[Assignment]:
        return [*([self.own] if self.own else ()), *self.assignments]

    def trace(self) -> JudgeTrace:
        """What every agent did."""
        return JudgeTrace(
            agents=tuple(
                JudgeSteps(
                    agent=each.agent,
                    about=each.about,
                    steps=tuple(each.steps),
                    refused=tuple(each.refused),
                )
                for each in self.all_assignments()
            )
        )


CURRENT_JOB: Final[ContextVar[Job]] = ContextVar("job")
CURRENT_ASSIGNMENT: Final[ContextVar[Assignment | None]] = ContextVar("assignment", default=None)


def current_assignment() -> Assignment:
    """What the agent was asked that is at work here."""
    assignment = CURRENT_ASSIGNMENT.get()
    assert assignment is not None
    return assignment
