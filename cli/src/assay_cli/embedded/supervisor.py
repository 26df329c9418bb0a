"""Keeps processes running: started together, started again when they die, stopped in order."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from assay_cli.embedded.process import (
    POLL_S,
    Child,
    ProcessSpec,
    StartFailed,
    describe_exit,
)

LONGEST_DELAY_S = 30.0
STEADY_AFTER_S = 30.0
"""A process that ran this long is forgiven its earlier deaths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessEvent:
    """Something a person who watches the stack should know."""

    process: str
    kind: Literal["ready", "died", "ready_again"]
    detail: str

    def interruption(self) -> str | None:
        """A line about a death or a return; None for what starts as it should."""
        if self.kind == "ready":
            return None
        return f"{self.process} {'died' if self.kind == 'died' else 'is back'}: {self.detail}"


def restart_delay_s(deaths: int) -> float:
    """Seconds to wait after the `deaths`-th death in a row: 0.1, 0.2, 0.4, … up to 30."""
    return float(min(LONGEST_DELAY_S, 0.1 * 2 ** min(deaths - 1, 10)))


class Supervisor:
    def __init__(self, on_event: Callable[[ProcessEvent], None]) -> None:
        self._on_event = on_event
        self._children: dict[str, Child] = {}
        self._groups: list[tuple[str, ...]] = []
        self._keepers: list[asyncio.Task[None]] = []

    def pid(self, name: str) -> int:
        """The process that bears `name` now; it changes with every restart."""
        return self._children[name].pid

    async def start(self, *specs: ProcessSpec) -> None:
        """Start the processes together and wait until all are ready. Raises StartFailed.

        Those of one call are stopped together, before those of earlier calls.
        """
        self._groups.append(tuple(spec.name for spec in specs))
        try:
            async with asyncio.TaskGroup() as group:
                for spec in specs:
                    group.create_task(self._first_start(spec))
        except BaseExceptionGroup as failures:
            # The others were called off; the first failure is the one to tell of.
            raise failures.exceptions[0] from None
        self._keepers += [asyncio.create_task(self._keep_running(spec)) for spec in specs]

    async def stop(self) -> None:
        """Stop everything in reverse order; returns when nothing is left."""
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)
        for group in reversed(self._groups):
            running = [self._children[name] for name in group if name in self._children]
            await asyncio.gather(*(asyncio.to_thread(child.stop) for child in running))

    async def _first_start(self, spec: ProcessSpec) -> None:
        began = time.monotonic()
        await self._started(spec)
        self._report(spec, "ready", f"after {time.monotonic() - began:.1f} s")

    async def _keep_running(self, spec: ProcessSpec) -> None:
        deaths = 0
        while True:
            began = time.monotonic()
            code = await self._children[spec.name].exited()
            deaths = 1 if time.monotonic() - began > STEADY_AFTER_S else deaths + 1
            happened = f"ended with {describe_exit(code)}"
            while True:
                delay_s = restart_delay_s(deaths)
                self._report(spec, "died", f"{happened}; starting it again in {delay_s:.1f} s")
                await asyncio.to_thread(self._children[spec.name].kill)
                await asyncio.sleep(delay_s)
                try:
                    await self._started(spec)
                    break
                except StartFailed as error:
                    deaths += 1
                    happened = str(error)
            self._report(spec, "ready_again", f"as process {self.pid(spec.name)}")

    async def _started(self, spec: ProcessSpec) -> None:
        try:
            child = self._children[spec.name] = Child(spec)
        except OSError as error:
            raise StartFailed(f"{spec.name} cannot be started: {error}.") from error
        ended = asyncio.create_task(child.exited())
        try:
            async with asyncio.timeout(spec.ready_within_s):
                while not await asyncio.to_thread(child.is_ready):
                    await asyncio.wait({ended}, timeout=POLL_S)
                    if ended.done():
                        raise child.start_failure(ended.result())
        except TimeoutError as error:
            await asyncio.to_thread(child.stop)
            raise child.start_failure(None) from error
        finally:
            ended.cancel()

    def _report(
        self, spec: ProcessSpec, kind: Literal["ready", "died", "ready_again"], detail: str
    ) -> None:
        self._on_event(ProcessEvent(process=spec.name, kind=kind, detail=detail))
