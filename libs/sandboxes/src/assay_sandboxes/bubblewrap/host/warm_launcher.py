"""The runner's end of the launcher, which starts sandboxes."""

import asyncio
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import assay_sandboxes
from assay_sandboxes.bubblewrap.host.memory_group import MemoryGroup, make_memory_group
from assay_sandboxes.bubblewrap.process_one import launcher
from assay_sandboxes.bubblewrap.process_one.move_in import SandboxSpec
from assay_sandboxes.host_processes import readable, uninterrupted
from assay_sandboxes.port import SandboxUnavailable

_ANSWER_S: Final = 20.0
_PROGRAM: Final = f"""
import sys
sys.path.insert(0, {str(Path(assay_sandboxes.__file__).parent.parent)!r})
from {launcher.__name__} import main
main()
"""


class LaunchedProcess:
    """A process that the launcher started."""

    def __init__(self, pid: int, descriptor: int) -> None:
        """`descriptor` is a pidfd, which is closed by `close`."""
        self.pid = pid
        self._descriptor = descriptor

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)

    async def wait(self) -> None:
        """Wait for its end."""
        await readable(self._descriptor)

    def close(self) -> None:
        """Let go of it, once it has ended."""
        os.close(self._descriptor)


@dataclass(frozen=True, slots=True)
class Launched:
    """A sandbox that was started, and its warden."""

    sandbox: LaunchedProcess
    warden: LaunchedProcess
    to_warden: socket.socket


class WarmLauncher:
    """Keeps one launcher running; what it started dies with it, and it with this process."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._next_group: MemoryGroup | None = None
        self._turn = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def take_group(self, memory_bytes: int) -> MemoryGroup | None:
        """A control group for the next sandbox to launch; none where there may be none."""
        group, self._next_group = self._next_group or _new_group(), None
        if group is not None:
            group.bound(memory_bytes)
        return group

    async def launch(
        self, spec: SandboxSpec, *, group: MemoryGroup | None, control: int, log: int
    ) -> Launched:
        """Start a sandbox.

        Raises:
            SandboxUnavailable: the launcher does not answer.
        """
        async with self._turn:
            self._next_group = self._next_group or _new_group()
            request = {
                "groups": _files_to_join(group),
                "spec": spec,
                "next": _files_to_join(self._next_group),
            }
            # Not to be interrupted between a request and its answer: the next one would get it.
            answer = asyncio.ensure_future(self._ask(json.dumps(request).encode(), [control, log]))
            try:
                return await asyncio.shield(answer)
            except asyncio.CancelledError:
                await uninterrupted(_kill_launched(answer))
                raise

    async def _ask(self, request: bytes, descriptors: list[int]) -> Launched:
        requests = self._started()
        try:
            socket.send_fds(requests, [request], descriptors)
            async with asyncio.timeout(_ANSWER_S):
                await readable(requests.fileno())
            answer, received, _, _ = socket.recv_fds(requests, 64, 3)
        except (OSError, TimeoutError) as error:
            self.close()
            raise SandboxUnavailable(f"the launcher does not answer: {error!r}") from error
        if not answer:
            self.close()
            raise SandboxUnavailable("the launcher ended by itself; the next run starts another")
        process, warden = map(int, answer.split())
        return Launched(
            LaunchedProcess(process, received[0]),
            LaunchedProcess(warden, received[1]),
            socket.socket(fileno=received[2]),
        )

    def _started(self) -> socket.socket:
        if self._process is not None and self._process.poll() is not None:
            self.close()
        if self._socket is None:
            near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with far:
                # An empty environment: process 1 of a sandbox has it from here.
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-c", _PROGRAM, str(os.getpid())],
                    env={},
                    stdin=far.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            self._socket = near
        return self._socket

    def close(self) -> None:
        """End the launcher, and with it whatever it started."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        if self._next_group is not None:
            # Somebody may still be in it; then a sweep removes it.
            with suppress(OSError):
                self._next_group.remove()
            self._next_group = None


async def _kill_launched(launching: asyncio.Future[Launched]) -> None:
    with suppress(SandboxUnavailable):
        launched = await launching
        launched.to_warden.close()
        for process in (launched.sandbox, launched.warden):
            process.kill()
            await process.wait()
            process.close()


def _new_group() -> MemoryGroup | None:
    return make_memory_group(secrets.token_hex(8))


def _files_to_join(group: MemoryGroup | None) -> list[str]:
    return group.files_to_join if group else []
