"""Carrying connections out of a sandbox with an open network.

The sandbox has a network of its own with a loopback and nothing else. A `connect` to an address
outside waits here: the warden connects to that address in its place, and the sandbox's socket to
a gate on the sandbox's own loopback, and carries what comes between the two. No socket of the
machine's network ever lies in the sandbox, so whatever a caller changes while its call waits
leads into the sandbox's own network, which has no way out.

The caller's socket is still the caller's: it can make connecting it take as long as it likes, so
that is done on threads, which nobody but this one sandbox waits for.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from assay_sandboxes.bubblewrap.warden.name_server import Place
    from assay_sandboxes.guest.socket_addresses import Host

_CONNECT_S: Final = 10.0
"""The caller waits, even one that wanted to do something else meanwhile."""
_GATE_S: Final = 5.0
_ARRIVE_S: Final = 60.0
"""A socket that connects with its first bytes may take so long to say any."""
_CHUNK: Final = 256 * 1024
_CONNECTIONS: Final = 256
"""So many at once; the next is refused."""
_THREADS: Final = 8


async def connect(host: str, port: int) -> socket.socket:
    """A connection. Raises OSError, TimeoutError among them."""
    far = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        far.setblocking(False)
        async with asyncio.timeout(_CONNECT_S):
            await asyncio.get_running_loop().sock_connect(far, (host, port))
    except BaseException:
        far.close()
        raise
    return far


class Carrier:
    """Has the connections of one sandbox in hand."""

    def __init__(self, gates: Sequence[socket.socket], detours: Mapping[str, Place]) -> None:
        """Take over the gates; `detours` tells where connections to an address go instead."""
        self._loop = asyncio.get_running_loop()
        self._gates = {gate.family: gate for gate in gates}
        self._detours = detours
        self._arriving: dict[tuple[int, int], socket.socket] = {}
        """The far ends of connections that a gate is about to see, by the port they come from."""
        self._unexpected: dict[tuple[int, int], socket.socket] = {}
        """Those that a gate has seen before it was known that they would come."""
        self._connecting = 0
        self._under_way: set[asyncio.Task[None]] = set()
        self._threads = ThreadPoolExecutor(_THREADS)
        for gate in gates:
            self._loop.add_reader(gate, self._arrive, gate)

    def can_carry(self, near: socket.socket) -> bool:
        return near.type == socket.SOCK_STREAM and near.family in self._gates

    @property
    def is_full(self) -> bool:
        return len(self._under_way) + len(self._arriving) >= _CONNECTIONS

    def start(
        self,
        near: socket.socket,
        host: Host,
        port: int,
        *,
        still_wanted: Callable[[], bool],
        end: Callable[[int], None],
    ) -> None:
        """Connect the caller's socket to a place outside.

        Args:
            near: The caller's socket, which is closed here afterwards.
            host: Where to.
            port: Where to.
            still_wanted: Whether the caller still waits.
            end: Told the error number that the caller is given, or 0.
        """

        async def work() -> None:
            with near:
                try:
                    far = await connect(*self._detours.get(str(host), (str(host), port)))
                except TimeoutError:
                    end(errno.ETIMEDOUT)
                    return
                except OSError as error:
                    end(error.errno or errno.ENETUNREACH)
                    return
                if still_wanted():
                    end(await self._to_the_gate(near, far))
                else:
                    far.close()

        self._keep(work())

    async def _to_the_gate(self, near: socket.socket, far: socket.socket) -> int:
        """Connect the caller's own socket to the gate; the error number that the caller is given.

        Whether it blocks belongs to the socket, not to our descriptor: it is as it was afterwards.
        """
        blocking = os.get_blocking(near.fileno())
        os.set_blocking(near.fileno(), False)
        self._connecting += 1
        try:
            gate = self._gates[near.family].getsockname()
            error = await self._connect_near(near, gate)
            if error not in (0, errno.EINPROGRESS):
                far.close()
                return error
            came_from = int(near.family), near.getsockname()[1]
            self._expect(came_from, far)
            if blocking and error:
                error = await self._wait_connected(near)
                if error:
                    self._expect(came_from, None)
        finally:
            self._connecting -= 1
            if not self._connecting:
                self._send_away_unexpected()
            if blocking:
                os.set_blocking(near.fileno(), True)
        return error

    async def _connect_near(self, near: socket.socket, gate: Place) -> int:
        # A descriptor of the thread's own: this one is closed when nobody waits any longer.
        own = near.dup()

        def work() -> int:
            with own:
                return own.connect_ex(gate)

        try:
            async with asyncio.timeout(_GATE_S):
                return await self._loop.run_in_executor(self._threads, work)
        except TimeoutError:
            return errno.ETIMEDOUT

    async def _wait_connected(self, near: socket.socket) -> int:
        """Wait for the end of a connection's beginning; its error number, or 0."""
        ready = asyncio.Event()
        self._loop.add_writer(near, ready.set)
        try:
            async with asyncio.timeout(_GATE_S):
                await ready.wait()
        except TimeoutError:
            return errno.ETIMEDOUT
        finally:
            self._loop.remove_writer(near)
        return near.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)

    def _expect(self, came_from: tuple[int, int], far: socket.socket | None) -> None:
        """Expect a connection at the gate, for a while; none means no longer to expect it."""
        before = self._arriving.pop(came_from, None)
        if before is not None:
            before.close()
        arrived = self._unexpected.pop(came_from, None)
        if far is not None and arrived is not None:
            self._keep(carry_between(arrived, far))
        elif far is not None:
            self._arriving[came_from] = far

            def give_up() -> None:
                if self._arriving.get(came_from) is far:
                    self._expect(came_from, None)

            self._loop.call_later(_ARRIVE_S, give_up)

    def _arrive(self, gate: socket.socket) -> None:
        with suppress(OSError):
            near, address = gate.accept()
            near.setblocking(False)
            came_from = int(gate.family), address[1]
            far = self._arriving.pop(came_from, None)
            if far is not None:
                self._keep(carry_between(near, far))
            elif self._connecting and len(self._unexpected) < _CONNECTIONS:
                # It may be one that a thread has connected and not told of yet.
                self._unexpected[came_from] = near
            else:
                near.close()  # it came to the gate by itself

    def _send_away_unexpected(self) -> None:
        for near in self._unexpected.values():
            near.close()
        self._unexpected.clear()

    def _keep(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.ensure_future(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)


async def carry_between(one: socket.socket, other: socket.socket) -> None:
    """Carry what comes from either to the other, until both have said all or one has broken."""
    # Both ways have ended before a socket is closed: the event loop must not go on watching it.
    with one, other:
        try:
            async with asyncio.TaskGroup() as both_ways:
                both_ways.create_task(_carry_one_way(one, other))
                both_ways.create_task(_carry_one_way(other, one))
        except* OSError:
            pass  # one of them broke, which ends both


async def _carry_one_way(source: socket.socket, target: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    while chunk := await loop.sock_recv(source, _CHUNK):
        await loop.sock_sendall(target, chunk)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
