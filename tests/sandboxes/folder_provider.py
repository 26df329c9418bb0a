"""A third provider, to show that the library needs no change for one.

Its machines are folders, and each command is a `bwrap` of its own. That makes it a remote service
like any other, but no match for a hostile skill: the processes of all its machines see each other.
"""

import asyncio
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from assay_contracts.runs import NetworkMode
from assay_sandboxes.bubblewrap.bwrap import bwrap_path
from assay_sandboxes.guest import processes
from assay_sandboxes.network_probe import Probe
from assay_sandboxes.port import Base, Environment, Limits
from assay_sandboxes.remote.guest_client import GuestClient
from assay_sandboxes.remote.leases import Leases, LeaseTerms
from assay_sandboxes.remote.retries import Retries, RetryPolicy
from assay_sandboxes.remote.sandbox import RemoteKind, RemoteSandbox
from assay_sandboxes.remote.service import MachineOrder, RemoteMissing

OWN: Final = ("opt", "workspace", "home", "tmp", "etc/resolv.conf")
SHARED: Final = ("usr", "bin", "lib", "lib64", "etc/passwd", "etc/hosts", "etc/ssl")
MADE: Final = ("--perms", "0755", "--dir", "/etc", "--bind", "/proc", "/proc", "--dev", "/dev")
KIND: Final = RemoteKind(kind="folders", service="the folder", blocked_by="--unshare-net")
HOUR: Final = timedelta(hours=1)
TERMS: Final = LeaseTerms(namespace="tests", time_to_live=HOUR, most=9, grace=HOUR)
RETRIES: Final = Retries(KIND.service, RetryPolicy(first_pause=0.02))


class FolderMachine:
    is_ending = False

    def __init__(self, folder: Path, order: MachineOrder) -> None:
        self.name, self.labels, self.created_at = order.name, order.labels, datetime.now(UTC)
        self.folder = folder
        shared = (word for name in SHARED for word in ("--ro-bind-try", f"/{name}", f"/{name}"))
        own = (word for name in OWN for word in ("--bind", str(folder / name), f"/{name}"))
        network = ("--unshare-net",) if order.blocked else ()
        self._bwrap = (str(bwrap_path()), *network, *MADE, *shared, *own)

    async def run(self, command: str, *, seconds: int) -> str:
        process = await asyncio.create_subprocess_exec(
            *(*self._bwrap, "bash", "-c", command), stdout=asyncio.subprocess.PIPE
        )
        return (await process.communicate())[0].decode()

    async def upload(self, path: str, content: bytes, *, seconds: int) -> None:
        (self.folder / path.removeprefix("/")).write_bytes(content)

    async def download(self, path: str, *, seconds: int) -> bytes:
        return (self.folder / path.removeprefix("/")).read_bytes()

    async def delete(self, *, seconds: float) -> None:
        for runner in self.folder.glob("opt/assay/runs/*/runner"):
            processes.kill_tree(int(runner.read_text()))
        shutil.rmtree(self.folder, ignore_errors=True)


class FolderProvider:
    """Both the provider of sandboxes and the service that has the machines."""

    kind = KIND.kind
    title = KIND.service

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._machines: dict[str, FolderMachine] = {}
        self._leases = Leases(self, TERMS, RETRIES)

    async def create(self, order: MachineOrder, *, seconds: float) -> FolderMachine:
        machine = FolderMachine(self._folder / "machines" / order.name, order)
        machine.folder.parent.mkdir(parents=True, exist_ok=True)
        self._machines[order.name] = machine
        for name in ("opt", "workspace", "home", "tmp", "etc"):
            (machine.folder / name).mkdir(parents=True, exist_ok=True)
        (machine.folder / "tmp").chmod(0o1777)
        (machine.folder / "etc" / "resolv.conf").write_text("nameserver 127.0.0.11\n")
        return machine

    async def find(self, name: str, *, seconds: float) -> FolderMachine:
        if name not in self._machines or not self._machines[name].folder.exists():
            raise RemoteMissing(name)
        return self._machines[name]

    async def find_all(self, labels: Mapping[str, str], *, seconds: float) -> list[FolderMachine]:
        there = [machine for machine in self._machines.values() if machine.folder.exists()]
        return [machine for machine in there if labels.items() <= machine.labels.items()]

    async def base(self) -> Base:
        no_skills = self._folder / "no-skills"
        no_skills.mkdir(parents=True, exist_ok=True)
        async with self.open(name="base", skills=no_skills, network="open") as sandbox:
            return await sandbox.base()

    @asynccontextmanager
    async def open(
        self,
        *,
        name: str,
        skills: Path,
        network: NetworkMode,
        environment: Environment | None = None,
        limits: Limits | None = None,
    ) -> AsyncIterator[RemoteSandbox]:
        async with self._leases.hold(name, snapshot=None, blocked=network == "blocked") as machine:
            sandbox = RemoteSandbox(
                machine.name,
                KIND,
                GuestClient(machine, RETRIES),
                limits or Limits(),
                environment=environment,
            )
            try:
                await sandbox.start(skills, network, Probe())
                await sandbox.lay_in(environment.layers if environment else ())
                yield sandbox
            finally:
                sandbox.end()

    async def sweep(self) -> list[str]:
        return (await self._leases.sweep()).removed

    async def close(self) -> None:
        await self._leases.drain()
