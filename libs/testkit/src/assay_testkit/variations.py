"""Recordings told otherwise: another model that does the same work in other words and order."""

import re
from dataclasses import replace
from typing import Final

from assay_testkit.recordings import Call, Conversation, RecordedTask, Recording, Said

_LOOKING: Final = re.compile(r"(?:cat|head|ls|file|wc) [^|;&>]*")
_FAILING: Final = Said(
    text="First I look round.",
    calls=(Call("execute", {"command": "ls -l no-such-folder-here && grep -r nothing ."}),),
)


def told_otherwise(recording: Recording) -> Recording:
    """Executors look round with a command that fails, look at things in another order, and talk."""
    return replace(recording, tasks=tuple(map(_task, recording.tasks)))


def _task(task: RecordedTask) -> RecordedTask:
    return replace(
        task,
        with_skill=_otherwise(task.with_skill),
        without_skill=_otherwise(task.without_skill),
    )


def _otherwise(turns: Conversation) -> Conversation:
    if not turns:
        return ()
    return (_FAILING, *(_reworded(_reordered(said)) for said in _swapped(turns)))


def _swapped(turns: Conversation) -> Conversation:
    """Two turns of looking change places where nothing depends on which came last."""
    swapped = list(turns)
    for first in range(len(turns) - 2):
        both, after = swapped[first : first + 2], swapped[first + 2]
        if all(_only_looks(said) for said in both) and after.when is None:
            swapped[first : first + 2] = reversed(both)
    return tuple(swapped)


def _reordered(said: Said) -> Said:
    return replace(said, calls=said.calls[::-1]) if _only_looks(said) else said


def _only_looks(said: Said) -> bool:
    return said.when is None and bool(said.calls) and all(map(_looks, said.calls))


def _looks(call: Call) -> bool:
    command = str(call.arguments.get("command", ""))
    return call.name == "read_file" or bool(_LOOKING.fullmatch(command))


def _reworded(said: Said) -> Said:
    return replace(said, text=f"Well then. {said.text} So much for that.")
