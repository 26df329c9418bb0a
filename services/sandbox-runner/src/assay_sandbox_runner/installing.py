"""The installation step that the tasks of a run share."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from assay_sandbox_runner.domain.installing import (
    changes_packages,
    means_the_same_everywhere,
    removes_packages,
)
from assay_sandboxes.port import ExecResult


@dataclass(slots=True)
class Installations:
    """Lets one task at a time change what is installed, and nobody install the same thing twice.

    A plain installation that has succeeded is not run again: whoever else asks for it gets what it
    printed, so that every task sees the same, whichever came first. One that failed is run again
    by whoever asks for it.
    """

    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _done: dict[str, ExecResult] = field(default_factory=dict)
    interrupted: bool = False
    """Whether the last installation did not come to its end, well or not."""

    async def __call__(self, command: str, run: Callable[[], Awaitable[ExecResult]]) -> ExecResult:
        """The result of `command`, which `run` runs."""
        if not changes_packages(command):
            return await run()
        async with self._turn:
            if command in self._done:
                return self._done[command]
            if removes_packages(command):
                self._done.clear()
            self.interrupted = True
            result = await run()
            self.interrupted = False
            if result.exit_code == 0 and means_the_same_everywhere(command):
                self._done[command] = result
            return result
