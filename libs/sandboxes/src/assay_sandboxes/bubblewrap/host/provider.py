"""Sandboxes on this machine, by bubblewrap, for root and for ordinary users alike."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from assay_contracts.runs import NetworkMode, SandboxKind
from assay_sandboxes.bubblewrap import KIND
from assay_sandboxes.bubblewrap.bwrap import BwrapMissing
from assay_sandboxes.bubblewrap.host.machine import machine_base
from assay_sandboxes.bubblewrap.host.memory_group import remove_abandoned_groups
from assay_sandboxes.bubblewrap.host.outside import Outside
from assay_sandboxes.bubblewrap.host.sandbox import BubblewrapSandbox
from assay_sandboxes.bubblewrap.host.sandbox_folder import SandboxFolder, sweep_sandboxes
from assay_sandboxes.bubblewrap.host.sandbox_processes import SandboxProcesses
from assay_sandboxes.bubblewrap.host.shared_files import SharedFiles
from assay_sandboxes.bubblewrap.host.warm_launcher import WarmLauncher
from assay_sandboxes.egress import EgressRules
from assay_sandboxes.host_processes import uninterrupted
from assay_sandboxes.network_probe import Probe
from assay_sandboxes.port import Base, Environment, Limits, Sandbox, SandboxUnavailable


class BubblewrapProvider:
    """Sandboxes in namespaces of their own (user, mount, pid, ipc, uts, network).

    Inside, /usr is the machine's, read-only. `/workspace`, `/tmp` and `/home/agent` lie in memory,
    on file systems with hard bounds of bytes and files; under `/home/agent` lie the layers of the
    environment, which all sandboxes share and none writes to. Nothing else of the machine's
    files, processes, environment, loopback or unix sockets shows. With an open network,
    connections are carried out by the sandbox's warden, a process of its own (`warden/`).

    Limits hold for each process by `setrlimit` (memory, size of a file) and for the sandbox
    (number of processes), and for the memory of the whole sandbox by a control group where this
    process may make one; `proof()` says whether it may. What lies in `/home/agent` counts there
    too, and the bound allows for it.
    """

    def __init__(
        self,
        state_dir: Path,
        *,
        probe: Probe | None = None,
        outside: Outside | None = None,
    ) -> None:
        """Keep sandboxes' folders under `state_dir`."""
        self._sandboxes = state_dir / "sandboxes"
        self._shared_files = SharedFiles(state_dir / "own")
        self._launcher = WarmLauncher()
        self._probe = probe or Probe()
        self._outside = outside or Outside.by_rules(EgressRules())

    @property
    def kind(self) -> SandboxKind:
        return KIND

    async def base(self) -> Base:
        return await asyncio.to_thread(machine_base)

    @asynccontextmanager
    async def open(
        self,
        *,
        name: str,
        skills: Path,
        network: NetworkMode,
        environment: Environment | None = None,
        limits: Limits | None = None,
    ) -> AsyncIterator[Sandbox]:
        """A new sandbox; see the port. Root makes what is in `skills` readable by everyone."""
        limits = limits or Limits()
        folder = self._make_folder(name)
        processes = SandboxProcesses(
            folder,
            limits,
            shared_files=self._shared_files,
            launcher=self._launcher,
            outside=self._outside,
        )
        sandbox = BubblewrapSandbox(folder, processes, limits, environment)
        try:
            await self._start(sandbox, skills, network)
            yield sandbox
        finally:
            await uninterrupted(_destroy(sandbox, folder))

    def _make_folder(self, name: str) -> SandboxFolder:
        try:
            return SandboxFolder.create(self._sandboxes, name)
        except OSError as error:
            raise SandboxUnavailable(
                f"cannot make a folder for a sandbox: {error}; check the space and the rights "
                f"on {self._sandboxes}"
            ) from error

    async def _start(self, sandbox: BubblewrapSandbox, skills: Path, network: NetworkMode) -> None:
        try:
            if os.geteuid() == 0:
                _let_everyone_read(skills)
            await sandbox.start(skills, network, self._probe)
        except (OSError, BwrapMissing) as error:
            raise SandboxUnavailable(f"the sandbox cannot be made: {error}") from error

    async def sweep(self) -> list[str]:
        def work() -> list[str]:
            remove_abandoned_groups()
            swept = sweep_sandboxes(self._sandboxes)
            if swept.stuck:
                raise SandboxUnavailable(
                    f"cannot remove what dead runners left: {'; '.join(swept.stuck)}; removed "
                    f"besides: {', '.join(swept.removed) or 'nothing'}"
                )
            return swept.removed

        return await asyncio.to_thread(work)

    async def close(self) -> None:
        self._launcher.close()


async def _destroy(sandbox: BubblewrapSandbox, folder: SandboxFolder) -> None:
    try:
        await sandbox.stop()
    finally:
        await folder.remove()


def _let_everyone_read(folder: Path) -> None:
    """Sandboxes that root starts run as another user, who has to read the skills."""
    for path, _, files in os.walk(folder):
        _allow(Path(path), 0o055)
        for name in files:
            _allow(Path(path, name), 0o044)


def _allow(path: Path, bits: int) -> None:
    mode = path.lstat().st_mode
    if not path.is_symlink() and mode & bits != bits:
        path.chmod(mode & 0o7777 | bits)
