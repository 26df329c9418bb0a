"""Processes of this machine: child processes without a thread for each, and who is who."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO


class Child:
    """A process of the machine, started here."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        pass_fds: Sequence[int] = (),
        stderr: IO[bytes] | int = subprocess.DEVNULL,
    ) -> None:
        self._process = subprocess.Popen(
            argv,
            env=env,
            pass_fds=pass_fds,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            start_new_session=True,
        )
        self._descriptor = os.pidfd_open(self._process.pid)

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self) -> None:
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)

    async def wait(self) -> int:
        """Wait for its end; return its exit code."""
        await readable(self._descriptor)
        return self._process.wait()

    def close(self) -> None:
        """Let go of it, once it has ended."""
        os.close(self._descriptor)


async def readable(descriptor: int) -> None:
    """Wait until a descriptor can be read (a pidfd: until its process has ended)."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)


async def run(argv: Sequence[str], *, stderr: IO[bytes] | int = subprocess.DEVNULL) -> int:
    """Run a program of the machine to its end; cancelling kills it."""
    child = Child(argv, env={"PATH": os.defpath, "LANG": "C.UTF-8"}, stderr=stderr)
    try:
        return await child.wait()
    finally:
        child.kill()
        await uninterrupted(child.wait())
        child.close()


async def uninterrupted(work: Coroutine[None, None, object]) -> None:
    """Do `work` to its end even if cancelled meanwhile; the cancellation comes after."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None and not task.cancelled():
        raise cancelled
    task.result()


def start_time(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; none if it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(text.rpartition(")")[2].split()[19])
