"""What came of one task, and how a run adds its tasks up. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from assay_contracts.runs import (
    Bound,
    ModelUse,
    NetworkCall,
    TaskOutcome,
    Trace,
    TraceStep,
)
from assay_sandbox_runner.domain.text import clip
from assay_sandbox_runner.ports import ObservedCall

ANSWER_CHARS: Final = 4000
LISTED_CALLS: Final = 1000
"""Network calls that a message lists; more would not fit into one."""
_COMMAND_CHARS: Final = 200
_RESERVE: Final = 0.1
_LEAST_RESERVE_S: Final = 2.0
"""Share of a run's time, and seconds, for opening the sandbox, checks and the snapshot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What an agent did about a task, whether it finished or hit a bound."""

    steps: tuple[TraceStep, ...]
    answer: str
    bounds_hit: tuple[Bound, ...]
    model: ModelUse


@dataclass(frozen=True, slots=True)
class TaskWindow:
    """When a task was being worked on, checks included."""

    task_id: str
    started: datetime
    ended: datetime


def seconds_for_task(*, run_limit_s: float, tasks: int, ceiling_s: float) -> float:
    """How long one task may take, so that tasks that all hang still leave a run that ended.

    A hanging skill is the skill's failure; only a run that overran as a whole is ours.
    """
    reserve = max(_RESERVE * run_limit_s, min(_LEAST_RESERVE_S, run_limit_s / 2))
    return min(ceiling_s, (run_limit_s - reserve) / max(1, tasks))


def total_use(uses: Sequence[ModelUse]) -> ModelUse | None:
    """The sum of what one role's model cost; None where it was never asked."""
    if not uses:
        return None
    return uses[0].model_copy(
        update={
            "calls": sum(use.calls for use in uses),
            "input_tokens": sum(use.input_tokens for use in uses),
            "output_tokens": sum(use.output_tokens for use in uses),
            "seconds": round(sum(use.seconds for use in uses), 4),
        }
    )


def outcome_of(trace: Trace, *, key: str, seconds: float) -> TaskOutcome:
    """The short form of a trace stored under `key`."""
    return TaskOutcome(
        task_id=trace.task_id,
        trace_key=key,
        skills_used=trace.skills_used,
        checks=trace.checks,
        bounds_hit=trace.bounds_hit,
        commands=sum(step.tool == "execute" for step in trace.steps),
        seconds=seconds,
        answer=clip(trace.answer, ANSWER_CHARS).text,
    )


def attribute(
    calls: Sequence[ObservedCall], windows: Sequence[TaskWindow]
) -> tuple[NetworkCall, ...]:
    """Each call with the task during which it was made; none for what came outside of tasks."""
    return tuple(
        NetworkCall(
            at=call.at,
            task_id=next(
                (w.task_id for w in windows if w.started <= call.at <= w.ended),
                None,
            ),
            command=clip(call.command, _COMMAND_CHARS).text,
            destination=clip(call.destination, _COMMAND_CHARS).text,
        )
        for call in calls
    )


def files_made(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    """Paths that are new or changed; the maps give each path a stamp that changes with it."""
    return tuple(sorted(path for path, stamp in after.items() if before.get(path) != stamp))
