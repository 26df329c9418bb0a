"""The runner's end of the socket to the supervisor inside a sandbox."""

import asyncio
import json
import marshal
import os
import socket
import struct
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from assay_sandboxes.bubblewrap.process_one.supervisor import Frame
from assay_sandboxes.network_probe import ProbeResult
from assay_sandboxes.port import SandboxUnavailable

_DESCRIPTORS: Final = 16
_CREDENTIALS: Final = struct.Struct("3i")


class Ready(NamedTuple):
    """What the supervisor says first."""

    process: int
    """Its process id, as seen from here."""
    counters: int
    """How many of the descriptors are the kernel's counters."""
    observed: list[int]
    """Descriptors to have its network in hand by."""


class SupervisorClient:
    """Sends requests, keeps what is waited for, and tells everyone waiting when it is lost."""

    def __init__(self) -> None:
        self._socket, self._far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._loop = asyncio.get_running_loop()
        self._lost: str | None = None
        self._exits: dict[int, asyncio.Future[int]] = {}
        self.worked: dict[int, float] = {}
        """Of requests that were ended: the processor's time that they had taken, in seconds."""
        self.ready: asyncio.Future[Ready] = self._loop.create_future()
        self.probed: asyncio.Future[ProbeResult] = self._loop.create_future()
        """What came of its attempts to get out, before anything else was done inside."""
        self._loop.add_reader(self._socket, self._hear)

    @property
    def far(self) -> int:
        """The descriptor to pass to the launcher."""
        return self._far.fileno()

    def started(self) -> None:
        """Keep only our end, so that the sandbox's end closes when the sandbox does."""
        self._far.close()

    def request(
        self,
        operation: str,
        number: int,
        content: Frame | None = None,
        body: bytes = b"",
        pipes: Sequence[int] = (),
    ) -> asyncio.Future[int]:
        """Ask the supervisor for something.

        Returns:
            A future of its exit code. Raises `SandboxUnavailable` if the sandbox is lost first.
        """
        exited: asyncio.Future[int] = self._loop.create_future()
        frame = _frame(content, body) if content is not None else None
        descriptors = [*([] if frame is None else [frame]), *pipes]
        try:
            self._send(operation, number, descriptors)
            self._exits[number] = exited
        finally:
            if frame is not None:
                os.close(frame)
        return exited

    def kill(self, number: int) -> None:
        """Ask for the end of a request and of all it started; a lost sandbox needs no asking."""
        with suppress(SandboxUnavailable):
            self._send("kill", number, ())

    def lose(self, why: str) -> None:
        """Give up on the sandbox: whatever waits for it, or is asked of it, fails."""
        if self._lost is not None:
            return
        self._lost = why
        self._loop.remove_reader(self._socket)
        self._socket.close()
        self._far.close()
        waited_for: list[asyncio.Future[Ready] | asyncio.Future[ProbeResult] | asyncio.Future[int]]
        waited_for = [self.ready, self.probed, *self._exits.values()]
        for future in waited_for:
            if not future.done():
                future.set_exception(SandboxUnavailable(why))
                future.exception()  # not every one of them has somebody waiting
        self._exits.clear()

    def _send(self, operation: str, number: int, descriptors: Sequence[int]) -> None:
        if self._lost is not None:
            raise SandboxUnavailable(self._lost)
        try:
            socket.send_fds(self._socket, [f"{operation} {number}".encode()], list(descriptors))
        except OSError as error:
            self.lose(f"the sandbox does not take requests: {error}")
            raise SandboxUnavailable(self._lost) from error

    def _hear(self) -> None:
        space = socket.CMSG_SPACE(_CREDENTIALS.size) + socket.CMSG_SPACE(_DESCRIPTORS * 4)
        try:
            data, ancillary, _, _ = self._socket.recvmsg(4096, space, socket.MSG_CMSG_CLOEXEC)
        except BlockingIOError:
            return
        except OSError:
            data, ancillary = b"", []
        if not data:
            self.lose("the sandbox ended by itself, or was ended from outside")
            return
        descriptors: list[int] = []
        process = 0
        for _, kind, content in ancillary:
            if kind == socket.SCM_RIGHTS:
                descriptors += [fd for (fd,) in struct.iter_unpack("i", content)]
            elif kind == socket.SCM_CREDENTIALS:
                process = _CREDENTIALS.unpack(content)[0]
        self._take(json.loads(data), descriptors, process)

    def _take(self, message: Mapping[str, object], descriptors: list[int], process: int) -> None:
        if message["op"] == "ready":
            counters = message["counters"]
            assert isinstance(counters, int)
            self.ready.set_result(Ready(process, counters, descriptors))
        elif message["op"] == "probed":
            self.probed.set_result(ProbeResult.model_validate(message))
        else:
            number, code = message["id"], message["code"]
            assert isinstance(number, int)
            assert isinstance(code, int)
            worked = message.get("worked")
            if isinstance(worked, float):
                self.worked[number] = worked
            exited = self._exits.pop(number, None)
            if exited is not None and not exited.done():
                exited.set_result(code)


def _frame(content: Frame, body: bytes) -> int:
    header = marshal.dumps(dict(content), 2)  # a version that every Python 3 reads
    descriptor = os.memfd_create("request")
    with open(descriptor, "wb", closefd=False) as frame:
        frame.write(struct.pack("<Q", len(header)) + header)
        frame.write(body)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
