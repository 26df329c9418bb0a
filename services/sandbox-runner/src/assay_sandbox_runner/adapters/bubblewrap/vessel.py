"""The processes of one sandbox and the watch over them, from start to end."""

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from assay_contracts.runs import NetworkMode
from assay_sandbox_runner.adapters.bubblewrap import layout
from assay_sandbox_runner.adapters.bubblewrap.cgroup import MemoryGroup
from assay_sandbox_runner.adapters.bubblewrap.control import Control
from assay_sandbox_runner.adapters.bubblewrap.launchpad import Launched, Launchpad
from assay_sandbox_runner.adapters.bubblewrap.network import NetworkWatch
from assay_sandbox_runner.adapters.bubblewrap.state import SandboxFolder
from assay_sandbox_runner.adapters.inside import launcher
from assay_sandbox_runner.adapters.process import readable
from assay_sandbox_runner.ports import Limits, SandboxUnavailable

SANDBOX_UID: Final = 64100
"""Whom a sandbox's processes are on the machine, when root starts them."""

T = TypeVar("T")

_START_S: Final = 20.0
_DEATH_S: Final = 10.0


class Vessel:
    """Starts `bwrap` with the supervisor inside, and ends it with all that runs in it."""

    def __init__(
        self, folder: SandboxFolder, limits: Limits, *, programs: Path, launchpad: Launchpad
    ) -> None:
        self._folder = folder
        self._programs = programs
        self._launchpad = launchpad
        self._limits = limits
        self._child: Launched | None = None
        self._first: int | None = None
        self.group: MemoryGroup | None = None
        self.watch: NetworkWatch | None = None
        self.control = Control()

    async def start(self, skills: Path, network: NetworkMode) -> None:
        """Start it.

        Raises:
            SandboxUnavailable: it does not start; says what `bwrap` or the launcher said.
        """
        self.group = self._launchpad.take_group(self._limits.memory_bytes)
        await self._launch(skills, network)
        descriptors = await self._wait_for(self.control.prepared)
        if network == "blocked":
            self.watch = NetworkWatch(descriptors)
        supervisor = await self._wait_for(self.control.ready)
        self._first = os.pidfd_open(supervisor)
        assert self._child is not None
        self._folder.record([self._child.pid, supervisor], self.group)

    async def _launch(self, skills: Path, network: NetworkMode) -> None:
        spec = launcher.Spec(
            control=layout.CONTROL,
            uid=SANDBOX_UID if os.geteuid() == 0 else None,
            blocked=network == "blocked",
            stage=layout.staged_folders(self._folder.path, skills, self._programs),
            bwrap=layout.staged_bwrap(),
            arguments=layout.bwrap_arguments(self._limits),
        )
        with self._folder.log.open("wb") as log:
            self._child = await self._launchpad.launch(
                spec, group=self.group, control=self.control.far, log=log.fileno()
            )
        self.control.started()
        self._folder.record([self._child.pid], self.group)

    async def _wait_for(self, answer: asyncio.Future[T]) -> T:
        try:
            async with asyncio.timeout(_START_S):
                return await asyncio.shield(answer)
        except (TimeoutError, SandboxUnavailable) as error:
            said = self._folder.log.read_text(errors="replace").strip()[-1000:]
            why = said or f"no answer within {_START_S:g} seconds"
            raise SandboxUnavailable(f"the sandbox did not start: {why}") from error

    async def stop(self) -> None:
        """End every process of it and let go of everything; safe at any stage of the start."""
        if self._child is not None:
            await self._end(self._child)
        self.control.lose("the sandbox is closed")
        if self.watch is not None:
            self.watch.close()
        elif self.control.prepared.done() and not self.control.prepared.exception():
            for descriptor in self.control.prepared.result():
                os.close(descriptor)
        if self._first is not None:
            os.close(self._first)
            self._first = None
        if self.group is not None:
            await self._remove_group(self.group)

    async def _end(self, child: Launched) -> None:
        if self._first is None:
            child.kill()
        else:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._first, signal.SIGKILL)
        try:
            async with asyncio.timeout(_DEATH_S):
                if self._first is not None:
                    # Process 1 ends after everything inside has.
                    await readable(self._first)
                await child.wait()
        except TimeoutError:
            child.kill()
            await child.wait()
        child.close()

    async def _remove_group(self, group: MemoryGroup) -> None:
        for _ in range(100):
            with suppress(OSError):  # the last of its processes are being buried
                group.remove()
                return
            await asyncio.sleep(0.01)
