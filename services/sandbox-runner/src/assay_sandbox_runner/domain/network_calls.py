"""Which task made which network call. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from assay_contracts.runs import NetworkCall
from assay_sandbox_runner.domain.text import clip
from assay_sandboxes.port import ObservedCall

LISTED_CALLS: Final = 1000
"""Network calls that a message lists; more would not fit into one."""
_SHOWN_CHARS: Final = 200
"""Of a call's command and of its destination."""


@dataclass(frozen=True, slots=True)
class TaskWindow:
    """Where and when a task was being worked on, checks included."""

    task_id: str
    folder: str
    started: datetime
    ended: datetime


def attribute_to_tasks(
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
            command=clip(call.command, _SHOWN_CHARS).text,
            destination=clip(call.destination, _SHOWN_CHARS).text,
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
