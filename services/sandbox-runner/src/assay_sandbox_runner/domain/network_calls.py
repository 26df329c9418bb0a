"""Which task made which network call, and whose doing it was. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from assay_contracts.runs import NetworkCall
from assay_sandbox_runner.domain.network_causes import SkillUnderTest, cause_of
from assay_sandbox_runner.domain.text import clip
from assay_sandboxes.port import ObservedCall

LISTED_CALLS: Final = 300
"""Network calls that a message lists; more might not fit into one."""
_SHOWN_CHARS: Final = 200
"""Of a call's command, of its program and of its destination."""


@dataclass(frozen=True, slots=True)
class TaskWindow:
    """Where and when a task was being worked on, checks included."""

    task_id: str
    folder: str
    started: datetime
    ended: datetime


def attribute_calls(
    calls: Sequence[ObservedCall], windows: Sequence[TaskWindow], skill: SkillUnderTest | None
) -> tuple[NetworkCall, ...]:
    """Each call with the task that made it and with whose doing it was.

    The folder that the calling command was started in tells the task. Where it is not known, the
    time does, if only one task was being worked on then. They come task by task, because which of
    two tasks side by side was first is chance. Without a skill under test no cause is told.
    """
    attributed = (
        NetworkCall(
            at=call.at,
            task_id=_task_of(call, windows),
            command=clip(call.command, _SHOWN_CHARS).text,
            destination=clip(call.destination, _SHOWN_CHARS).text,
            attempts=call.attempts,
            program=_program_of(call),
            cause=cause_of(call, skill) if skill else None,
            problem=call.problem,
            refused=call.refused,
        )
        for call in calls
    )
    return tuple(sorted(attributed, key=lambda call: (call.task_id or "", call.at)))


def listed(calls: Sequence[NetworkCall]) -> tuple[NetworkCall, ...]:
    """As many as a message lists, in their order: none that counts is left out for one that not."""
    if len(calls) <= LISTED_CALLS:
        return tuple(calls)
    order = sorted(range(len(calls)), key=lambda index: not calls[index].counts)
    return tuple(calls[index] for index in sorted(order[:LISTED_CALLS]))


def _program_of(call: ObservedCall) -> str | None:
    return clip(call.programs[0].command_line, _SHOWN_CHARS).text if call.programs else None


def _task_of(call: ObservedCall, windows: Sequence[TaskWindow]) -> str | None:
    for window in windows:
        if call.cwd == window.folder:
            return window.task_id
    then = [window.task_id for window in windows if window.started <= call.at <= window.ended]
    return then[0] if len(then) == 1 else None
