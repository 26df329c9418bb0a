"""Installing packages, which the tasks of a run do for all of them at once."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from assay_agentkit.task_clock import stopped_clock
from assay_sandbox_runner.domain.install_commands import (
    changes_packages,
    does_the_same_in_every_folder,
    removes_packages,
)
from assay_sandboxes.port import ExecResult


@dataclass(slots=True)
class SharedInstallations:
    """Lets one task at a time change what is installed, and nobody install the same thing twice.

    A plain installation that has succeeded is not run again: whoever else asks for it gets what it
    printed, so that every task sees the same, whichever came first. One that failed is run again
    by whoever asks for it. Waiting for its turn costs a task none of its time.
    """

    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)
    _results: dict[str, ExecResult] = field(default_factory=dict)
    interrupted: bool = False
    """Whether the last installation did not come to its end, well or not."""

    async def __call__(self, command: str, run: Callable[[], Awaitable[ExecResult]]) -> ExecResult:
        """The result of `command`, which `run` runs."""
        if not changes_packages(command):
            return await run()
        with stopped_clock():
            await self._one_at_a_time.acquire()
        try:
            if command in self._results:
                return self._results[command]
            if removes_packages(command):
                self._results.clear()
            self.interrupted = True
            result = await run()
            self.interrupted = False
            if result.exit_code == 0 and does_the_same_in_every_folder(command):
                self._results[command] = result
            return result
        finally:
            self._one_at_a_time.release()
