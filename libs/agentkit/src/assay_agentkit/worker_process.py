"""Calls functions in a process of their own, where they hold up no loop and cannot go on for ever.

What a skill can make long belongs here: reading its text takes a processor for as long as it takes,
and an event loop that others share must not wait for it.
"""

import asyncio
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Final, TypeVar

T = TypeVar("T")

WORKERS: Final = 2
"""Calls that are carried out at once; more wait for their turn."""
_START: Final = (
    "import sys; from assay_agentkit.worker_process import serve; serve(int(sys.argv[1]))"
)


class TookTooLong(Exception):
    """The function had not ended in its time; its process is gone."""


class _Worker:
    """One process that answers one call at a time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None

    def call(self, function: Callable[..., T], arguments: tuple[object, ...], seconds: float) -> T:
        connection = self._connection or self._start()
        try:
            connection.send((function, arguments))
            if not connection.poll(seconds):
                self.end()
                raise TookTooLong(f"it had not ended after {seconds:g} s")
            succeeded, answer = connection.recv()
        except (EOFError, OSError) as error:
            self.end()
            raise TookTooLong("the process it ran in has ended") from error
        if not succeeded:
            raise answer
        result: T = answer
        return result

    def _start(self) -> Connection:
        # Not by `multiprocessing`: that would import our main program once more over there.
        ours, theirs = socket.socketpair()
        with theirs:
            place = theirs.fileno()
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START, str(place)], pass_fds=(place,)
            )
        self._connection = Connection(ours.detach())
        return self._connection

    def end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        if self._connection is not None:
            self._connection.close()
        self._process = self._connection = None


class _Workers:
    """As many workers as may be at work at once, started when they are needed."""

    def __init__(self, count: int) -> None:
        self._turns = threading.Semaphore(count)
        self._idle = [_Worker() for _ in range(count)]

    def call(self, function: Callable[..., T], arguments: tuple[object, ...], seconds: float) -> T:
        with self._turns:
            worker = self._idle.pop()
            try:
                return worker.call(function, arguments, seconds)
            finally:
                self._idle.append(worker)


_WORKERS: Final = _Workers(WORKERS)


async def call_in_worker(function: Callable[..., T], *arguments: object, seconds: float) -> T:
    """What the function gives for these arguments, computed in another process.

    Everything that goes there and back has to be picklable.

    Raises:
        TookTooLong: it had not ended after `seconds`, waiting for its turn apart.
        Exception: what the function itself raised.
    """
    return await asyncio.to_thread(_WORKERS.call, function, arguments, seconds)


def serve(place: int) -> None:
    """The other process: answer what comes by this descriptor until nobody asks any more."""
    connection = Connection(place)
    with suppress(EOFError, OSError, KeyboardInterrupt):
        while True:
            function, arguments = connection.recv()
            try:
                answer: tuple[bool, object] = (True, function(*arguments))
            except Exception as error:  # noqa: BLE001  # it is raised again where it was called from
                answer = (False, error)
            connection.send(answer)
