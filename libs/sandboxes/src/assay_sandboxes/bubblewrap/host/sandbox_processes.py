"""The processes of one sandbox and the watch over them, from start to end."""

import asyncio
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from assay_contracts.runs import NetworkMode
from assay_sandboxes.bubblewrap.bwrap import overlay_works
from assay_sandboxes.bubblewrap.host import layout
from assay_sandboxes.bubblewrap.host.memory_group import MemoryGroup
from assay_sandboxes.bubblewrap.host.outside import Outside
from assay_sandboxes.bubblewrap.host.sandbox_folder import SandboxFolder
from assay_sandboxes.bubblewrap.host.shared_files import SharedFiles
from assay_sandboxes.bubblewrap.host.supervisor_client import Ready, SupervisorClient
from assay_sandboxes.bubblewrap.host.warden_client import WardenClient
from assay_sandboxes.bubblewrap.host.warm_launcher import Launched, LaunchedProcess, WarmLauncher
from assay_sandboxes.bubblewrap.process_one.move_in import SandboxSpec
from assay_sandboxes.bubblewrap.process_one.supervisor import ProbeFrame
from assay_sandboxes.host_processes import readable
from assay_sandboxes.network_probe import Probe
from assay_sandboxes.port import Limits, SandboxUnavailable

_START_S: Final = 20.0
_DEATH_S: Final = 10.0


class _EndedUnexpectedly(SandboxUnavailable):
    """It ended before it was ready, and did not say why."""


class SandboxProcesses:
    """Has process 1 of a sandbox started, and ends it with all that runs in it."""

    def __init__(
        self,
        folder: SandboxFolder,
        limits: Limits,
        *,
        shared_files: SharedFiles,
        launcher: WarmLauncher,
        outside: Outside,
    ) -> None:
        self._folder = folder
        self._shared_files = shared_files
        self._launcher = launcher
        self._limits = limits
        self._launched_processes: Launched | None = None
        self._process_one: int | None = None
        self.group: MemoryGroup | None = None
        self._outside = outside
        self._warden: WardenClient | None = None
        self.supervisor = SupervisorClient()

    @property
    def warden(self) -> WardenClient:
        """Who has its network in hand, once it has started."""
        assert self._warden is not None
        return self._warden

    async def start(
        self, skills: Path, network: NetworkMode, probe: Probe, layers: Sequence[Path] = ()
    ) -> str:
        """Start it; what was seen, from inside, of there being no way out but by its warden.

        `layers` show in its home folder.

        Raises:
            NotOffline: there is another way out.
            SandboxUnavailable: it does not start; says what `bwrap` or the launcher said.
        """
        try:
            ready = await self._launched(skills, probe, layers)
        except _EndedUnexpectedly:
            # Something on the machine killed it before anything ran inside: nothing is lost yet.
            await self.stop()
            self._launched_processes, self.group = None, None
            self.supervisor = SupervisorClient()
            ready = await self._launched(skills, probe, layers)
        launched = self._launched_processes
        assert launched is not None
        self._process_one = os.pidfd_open(ready.process)
        self._folder.record([launched.sandbox.pid, ready.process, launched.warden.pid], self.group)
        self._warden = WardenClient(launched.to_warden, lost=self.supervisor.lose)
        order = self._outside.order(
            ready,
            carry=network == "open",
            memory_bytes=None if self.group else self._limits.memory_bytes,
        )
        self._warden.hand_over(order, ready.observed)
        return await self._proven(probe, carries=network == "open")

    async def _proven(self, probe: Probe, *, carries: bool) -> str:
        try:
            async with asyncio.timeout(_START_S):
                result = await asyncio.shield(self.supervisor.probed)
        except TimeoutError as error:
            raise SandboxUnavailable("the sandbox's probe of its network did not end") from error
        begun = await self.warden.begin()
        seen = probe.judge(result, begun["attempts"])
        if carries and not begun["shares_sockets"]:
            raise SandboxUnavailable(
                "connections cannot be carried out of an online sandbox: this machine does not "
                "let a process share a socket with those that the same user started (Linux 5.6 "
                "does, with kernel.yama.ptrace_scope at most 1)"
            )
        return seen

    async def _launched(self, skills: Path, probe: Probe, layers: Sequence[Path]) -> Ready:
        # What is installed lies in memory too, and is charged to whoever installs it.
        self.group = self._launcher.take_group(self._limits.memory_bytes + self._limits.home_bytes)
        await self._launch(skills, probe, layers)
        return await self._ready()

    async def _launch(self, skills: Path, probe: Probe, layers: Sequence[Path]) -> None:
        overlay = bool(layers) and await asyncio.to_thread(overlay_works)
        spec = SandboxSpec(
            probe=ProbeFrame(
                addresses=list(probe.addresses), names=list(probe.names), seconds=probe.seconds
            ),
            stage=layout.staged_folders(
                own=self._shared_files.put(layout.own_files()),
                skills=skills,
            ),
            rooms=layout.rooms(self._limits, layers, overlay=overlay),
            bwrap=layout.staged_bwrap(),
            arguments=layout.bwrap_arguments(),
            environment=layout.COMMAND_ENVIRONMENT,
            limits=self._limits.of_each_command(),
        )
        with self._folder.log.open("wb") as log:
            self._launched_processes = await self._launcher.launch(
                spec, group=self.group, control=self.supervisor.far, log=log.fileno()
            )
        self.supervisor.started()

    async def _ready(self) -> Ready:
        try:
            async with asyncio.timeout(_START_S):
                return await asyncio.shield(self.supervisor.ready)
        except TimeoutError as error:
            why = self._said() or f"no answer within {_START_S:g} seconds"
            raise SandboxUnavailable(f"the sandbox did not start: {why}") from error
        except SandboxUnavailable as error:
            if said := self._said():
                raise SandboxUnavailable(f"the sandbox did not start: {said}") from error
            raise _EndedUnexpectedly(f"the sandbox did not start: {error}") from error

    def _said(self) -> str:
        return self._folder.log.read_text(errors="replace").strip()[-1000:]

    async def stop(self) -> None:
        """End every process of it and let go of everything; safe at any stage of the start."""
        launched = self._launched_processes
        if launched is not None:
            await self._end(launched.sandbox)
        self.supervisor.lose("the sandbox is closed")
        if self._warden is not None:
            self._warden.close()
        elif self.supervisor.ready.done() and not self.supervisor.ready.exception():
            for descriptor in self.supervisor.ready.result().observed:
                os.close(descriptor)
        if launched is not None:
            launched.to_warden.close()
            launched.warden.kill()
            await launched.warden.wait()
            launched.warden.close()
        if self._process_one is not None:
            os.close(self._process_one)
            self._process_one = None
        if self.group is not None:
            await self._remove_group(self.group)

    async def _end(self, child: LaunchedProcess) -> None:
        if self._process_one is None:
            child.kill()
        else:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._process_one, signal.SIGKILL)
        try:
            async with asyncio.timeout(_DEATH_S):
                if self._process_one is not None:
                    # Process 1 ends after everything inside has.
                    await readable(self._process_one)
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
