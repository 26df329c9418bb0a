"""The processes of one sandbox and the watch over them, from start to end."""

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Final

from assay_contracts.runs import NetworkMode
from assay_sandboxes.bubblewrap.host import layout
from assay_sandboxes.bubblewrap.host.egress_proxy import Carrier, Outside
from assay_sandboxes.bubblewrap.host.memory_group import MemoryGroup
from assay_sandboxes.bubblewrap.host.network_watch import NetworkWatch
from assay_sandboxes.bubblewrap.host.sandbox_folder import OwnFiles, SandboxFolder
from assay_sandboxes.bubblewrap.host.supervisor_client import Control, Ready
from assay_sandboxes.bubblewrap.host.warm_launcher import Launched, Launchpad
from assay_sandboxes.bubblewrap.process_one import move_in
from assay_sandboxes.host_processes import readable
from assay_sandboxes.port import Limits, SandboxUnavailable

_START_S: Final = 20.0
_DEATH_S: Final = 10.0


class _EndedUnasked(SandboxUnavailable):
    """It ended before it was ready, and did not say why."""


class Vessel:
    """Has process 1 of a sandbox started, and ends it with all that runs in it."""

    def __init__(
        self,
        folder: SandboxFolder,
        limits: Limits,
        *,
        own: OwnFiles,
        launchpad: Launchpad,
        outside: Outside,
    ) -> None:
        self._folder = folder
        self._own = own
        self._launchpad = launchpad
        self._limits = limits
        self._child: Launched | None = None
        self._first: int | None = None
        self.group: MemoryGroup | None = None
        self._outside = outside
        self.carrier: Carrier | None = None
        """Of an open network."""
        self.watch: NetworkWatch | None = None
        """Over a blocked network."""
        self.control = Control()

    async def start(self, skills: Path, network: NetworkMode) -> None:
        """Start it.

        Raises:
            SandboxUnavailable: it does not start; says what `bwrap` or the launcher said.
        """
        try:
            ready = await self._launched(skills, network)
        except _EndedUnasked:
            # Something on the machine killed it before anything ran inside: nothing is lost yet.
            await self.stop()
            self._child, self.group, self.control = None, None, Control()
            ready = await self._launched(skills, network)
        if network == "blocked":
            self.watch = NetworkWatch(ready.observed)
        else:
            self.carrier = Carrier(ready.observed, self._outside)
        self._first = os.pidfd_open(ready.process)
        assert self._child is not None
        self._folder.record([self._child.pid, ready.process], self.group)

    async def _launched(self, skills: Path, network: NetworkMode) -> Ready:
        self.group = self._launchpad.take_group(self._limits.memory_bytes)
        await self._launch(skills, network)
        return await self._ready()

    async def _launch(self, skills: Path, network: NetworkMode) -> None:
        spec = move_in.Spec(
            blocked=network == "blocked",
            stage=layout.staged_folders(
                home=self._folder.home, own=self._own.put(layout.own_files(network)), skills=skills
            ),
            bwrap=layout.staged_bwrap(),
            arguments=layout.bwrap_arguments(self._limits),
            environment=layout.ENVIRONMENT,
            bounds=layout.bounds(self._limits),
        )
        with self._folder.log.open("wb") as log:
            self._child = await self._launchpad.launch(
                spec, group=self.group, control=self.control.far, log=log.fileno()
            )
        self.control.started()

    async def _ready(self) -> Ready:
        try:
            async with asyncio.timeout(_START_S):
                return await asyncio.shield(self.control.ready)
        except TimeoutError as error:
            why = self._said() or f"no answer within {_START_S:g} seconds"
            raise SandboxUnavailable(f"the sandbox did not start: {why}") from error
        except SandboxUnavailable as error:
            if said := self._said():
                raise SandboxUnavailable(f"the sandbox did not start: {said}") from error
            raise _EndedUnasked(f"the sandbox did not start: {error}") from error

    def _said(self) -> str:
        return self._folder.log.read_text(errors="replace").strip()[-1000:]

    async def stop(self) -> None:
        """End every process of it and let go of everything; safe at any stage of the start."""
        if self._child is not None:
            await self._end(self._child)
        self.control.lose("the sandbox is closed")
        if self.watch is not None:
            self.watch.close()
        elif self.carrier is not None:
            self.carrier.close()
        elif self.control.ready.done() and not self.control.ready.exception():
            for descriptor in self.control.ready.result().observed:
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
