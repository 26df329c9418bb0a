"""A task's outcome: the short form of its trace, which fits into a message. Pure."""

from collections.abc import Mapping, Sequence
from typing import Final

from assay_contracts.obstacles import Obstacle
from assay_contracts.runs import TaskOutcome, Trace, TraceStep
from assay_sandbox_runner.domain.text import clip

_ANSWER_CHARS: Final = 4000
_LISTED_FILES: Final = 20
_LISTED_ACTIONS: Final = 12
_LINE_CHARS: Final = 200
"""Of one action or one path."""


def outcome_of(
    trace: Trace, *, key: str, seconds: float, unovercome: Sequence[Obstacle] = ()
) -> TaskOutcome:
    """The short form of a trace stored under `key`; `unovercome` stood in the way to the end."""
    return TaskOutcome(
        task_id=trace.task_id,
        trace_key=key,
        skills_used=trace.skills_used,
        checks=trace.checks,
        bounds_hit=trace.bounds_hit,
        actions=_actions(trace.steps),
        files_made=tuple(clip(path, _LINE_CHARS).text for path in trace.files_made[:_LISTED_FILES]),
        commands=sum(step.tool == "execute" for step in trace.steps),
        seconds=seconds,
        answer=clip(trace.answer, _ANSWER_CHARS).text,
        attribution=trace.attribution,
        obstacles=tuple(unovercome),
    )


def files_made(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    """Paths that are new or changed; the maps give each path a stamp that changes with it."""
    return tuple(sorted(path for path, stamp in after.items() if before.get(path) != stamp))


def _actions(steps: Sequence[TraceStep]) -> tuple[str, ...]:
    half = _LISTED_ACTIONS // 2
    if len(steps) <= _LISTED_ACTIONS:
        return tuple(map(_action, steps))
    left_out = f"… {len(steps) - 2 * half} more …"
    return (*map(_action, steps[:half]), left_out, *map(_action, steps[-half:]))


def _action(step: TraceStep) -> str:
    ended = "failed" if step.failed else "done"
    if step.exit_code is not None:
        ended = f"exit code {step.exit_code}"
    call = clip(f"{step.tool} {step.arguments}", _LINE_CHARS).text
    return f"{call}: {ended}, {step.seconds:.1f} s"
