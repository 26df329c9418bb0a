"""A warden, from the moment it is forked to its end."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NoReturn

from assay_sandboxes.bubblewrap.process_one import kernel
from assay_sandboxes.bubblewrap.warden.network import WatchedNetwork
from assay_sandboxes.bubblewrap.warden.share_keeper import ShareKeeper
from assay_sandboxes.guest import fast_files, processes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from assay_sandboxes.bubblewrap.warden.call_ledger import SeenCall

_LIMITS: Final = (
    (resource.RLIMIT_NOFILE, 1024),
    (resource.RLIMIT_DATA, 256 * 1024**2),
    (resource.RLIMIT_CPU, 1800),
    (resource.RLIMIT_CORE, 0),
)
"""What one may use, whatever its sandbox does to it."""
_WEIGHTS: Final = (("cpu.shares", "1024", "64"), ("cpu.weight", "100", "6"))
"""File of a control group, the usual weight, and that of who steps back."""
_DESCRIPTORS: Final = 16
MOST_ANSWER_BYTES: Final = 4 * 1024**2
"""Of what is told of calls; those beyond are left out."""


def watch_over(control: socket.socket, *, starter: int, uid: int, groups: list[str]) -> NoReturn:
    """Be the warden of a sandbox, as the other end of `control` asks, until that is closed.

    Args:
        control: A socket for packets.
        starter: Whose child this process is; it ends with it.
        uid: Whom to become, where this is root.
        groups: Folders of the sandbox's control groups.
    """
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        processes.point_nowhere(0, 1, 2)
        os.closerange(3, control.fileno())
        os.closerange(control.fileno() + 1, 1024)
        kernel.show_as("warden")
        weights = list(_weights_of(groups))  # whoever is not root could not open them
        if os.geteuid() == 0:
            kernel.become_user(uid)
        kernel.die_with_parent()
        if os.getppid() != starter:
            os._exit(1)
        for what, value in _LIMITS:
            _, most = resource.getrlimit(what)
            least = value if most == resource.RLIM_INFINITY else min(value, most)
            resource.setrlimit(what, (least, least))
        control.setblocking(False)
        asyncio.run(_Warden(control, weights).serve())
    finally:
        # Threads may hang in a call of somebody else's making.
        os._exit(1)


def _weights_of(groups: Iterable[str]) -> Iterator[tuple[int, str, str]]:
    for group in groups:
        for name, usual, less in _WEIGHTS:
            with suppress(OSError):
                yield os.open(f"{group}/{name}", os.O_RDWR), usual, less


class _Warden:
    def __init__(self, control: socket.socket, weights: list[tuple[int, str, str]]) -> None:
        self._control = control
        self._weights = weights
        self._keeper: ShareKeeper | None = None
        self._shares: asyncio.Task[None] | None = None
        self._network: WatchedNetwork | None = None
        self._ended = asyncio.Event()
        self._answering: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        asyncio.get_running_loop().add_reader(self._control, self._hear)
        await self._ended.wait()
        os._exit(0)

    def _hear(self) -> None:
        try:
            message, descriptors, _, _ = socket.recv_fds(self._control, 1 << 17, _DESCRIPTORS)
        except BlockingIOError:
            return
        if not message:
            self._ended.set()
            return
        request = json.loads(message)
        if self._network is None:
            self._network = WatchedNetwork(request, descriptors)
            self._keeper = ShareKeeper(
                request["process"],
                weights=self._weights,
                memory_bytes=request["memory_bytes"],
                ending_for_memory=lambda: self._control.send(b"memory"),
            )
            self._shares = asyncio.ensure_future(self._keeper.keep())
            self._shares.add_done_callback(lambda _: self._ended.set())
            return
        task = asyncio.ensure_future(self._answer(self._network, request))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _answer(self, network: WatchedNetwork, request: dict[str, Any]) -> None:
        if request["op"] == "begin":
            self._say(request["id"], json.dumps(network.begin()).encode())
        elif request["op"] == "settle":
            network.ledger.settle()
        elif request["op"] == "ending":
            assert self._keeper is not None
            self._keeper.let_end()
        else:
            self._say(request["id"], _lines(await network.calls()))

    def _say(self, number: int, content: bytes) -> None:
        """Answer by a file in memory: an answer may be longer than a packet."""
        file = os.memfd_create("answer")
        try:
            fast_files.write_all(file, content)
            socket.send_fds(self._control, [str(number).encode()], [file])
        finally:
            os.close(file)


def _lines(calls: Iterable[SeenCall]) -> bytes:
    written, total = [], 0
    for call in calls:
        line = json.dumps(call).encode()
        total += len(line) + 1
        if total > MOST_ANSWER_BYTES:
            break
        written.append(line)
    return b"\n".join(written)
