"""What came of one task, and how a run adds its tasks up. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from assay_contracts.runs import (
    Bound,
    NetworkCall,
    TaskOutcome,
    Trace,
    TraceStep,
)
from assay_contracts.tasks import CheckResult, FileCheck, Task
from assay_sandbox_runner.domain.text import clip
from assay_sandboxes.port import ObservedCall

ANSWER_CHARS: Final = 4000
LISTED_CALLS: Final = 1000
"""Network calls that a message lists; more would not fit into one."""
LISTED_FILES: Final = 20
"""Files made that a task's short form lists."""
LISTED_ACTIONS: Final = 12
"""Tool calls that a task's short form lists."""
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


NOTHING_DONE: Final = Attempt(steps=(), answer="", bounds_hit=())


def shows_nothing(task: Task, before: Sequence[CheckResult]) -> bool:
    """Whether every check of the task passes before any work, and none is on a file to be changed.

    Args:
        task: As planned.
        before: Its checks' results on nothing but its input files.
    """
    given = {file.path for file in task.files}
    return bool(before) and all(
        result.passed and not (isinstance(result.check, FileCheck) and result.check.path in given)
        for result in before
    )


def compared(
    before: Sequence[CheckResult], after: Sequence[CheckResult]
) -> tuple[CheckResult, ...]:
    """The results after the work, each with what it was before if that was looked at."""
    if not before:
        return tuple(after)
    return tuple(
        late.model_copy(update={"passed_before": early.passed})
        for early, late in zip(before, after, strict=True)
    )


@dataclass(frozen=True, slots=True)
class TaskWindow:
    """Where and when a task was being worked on, checks included."""

    task_id: str
    folder: str
    started: datetime
    ended: datetime


def seconds_for_task(*, run_limit_s: float, turns: int, ceiling_s: float) -> float:
    """How long one task may take, so that tasks that all hang still leave a run that ended.

    A hanging skill is the skill's failure; only a run that overran as a whole is ours.

    Args:
        run_limit_s: What the whole run may take.
        turns: How many tasks go one after another; tasks side by side are one turn.
        ceiling_s: What one task may take in any case.
    """
    reserve = max(_RESERVE * run_limit_s, min(_LEAST_RESERVE_S, run_limit_s / 2))
    return min(ceiling_s, (run_limit_s - reserve) / max(1, turns))


def tokens_for_task(budget: int | None, tasks: int) -> int | None:
    """An equal share for each, so that no task is cut short by another's appetite."""
    return None if budget is None else budget // max(1, tasks)


def outcome_of(trace: Trace, *, key: str, seconds: float) -> TaskOutcome:
    """The short form of a trace stored under `key`."""
    return TaskOutcome(
        task_id=trace.task_id,
        trace_key=key,
        skills_used=trace.skills_used,
        checks=trace.checks,
        bounds_hit=trace.bounds_hit,
        actions=_actions(trace.steps),
        files_made=tuple(
            clip(path, _COMMAND_CHARS).text for path in trace.files_made[:LISTED_FILES]
        ),
        commands=sum(step.tool == "execute" for step in trace.steps),
        seconds=seconds,
        answer=clip(trace.answer, ANSWER_CHARS).text,
    )


def _actions(steps: Sequence[TraceStep]) -> tuple[str, ...]:
    half = LISTED_ACTIONS // 2
    if len(steps) <= LISTED_ACTIONS:
        return tuple(map(_action, steps))
    left_out = f"… {len(steps) - 2 * half} more …"
    return (*map(_action, steps[:half]), left_out, *map(_action, steps[-half:]))


def _action(step: TraceStep) -> str:
    ended = "failed" if step.failed else "done"
    if step.exit_code is not None:
        ended = f"exit code {step.exit_code}"
    told = clip(f"{step.tool} {step.arguments}", _COMMAND_CHARS).text
    return f"{told}: {ended}, {step.seconds:.1f} s"


def attribute(
    calls: Sequence[ObservedCall], windows: Sequence[TaskWindow]
) -> tuple[NetworkCall, ...]:
    """Each call with the task that made it; none where that cannot be told.

    The folder that the calling command was started in tells. Where it is not known, the time
    does, if only one task was being worked on then. They come task by task, because which of
    two tasks side by side was first is chance.
    """
    attributed = (
        NetworkCall(
            at=call.at,
            task_id=_task_of(call, windows),
            command=clip(call.command, _COMMAND_CHARS).text,
            destination=clip(call.destination, _COMMAND_CHARS).text,
        )
        for call in calls
    )
    return tuple(sorted(attributed, key=lambda call: (call.task_id or "", call.at)))


def _task_of(call: ObservedCall, windows: Sequence[TaskWindow]) -> str | None:
    for window in windows:
        if call.cwd == window.folder:
            return window.task_id
    then = [window.task_id for window in windows if window.started <= call.at <= window.ended]
    return then[0] if len(then) == 1 else None


def files_made(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    """Paths that are new or changed; the maps give each path a stamp that changes with it."""
    return tuple(sorted(path for path, stamp in after.items() if before.get(path) != stamp))
