"""The way out of a sandbox with an open network, through the runner.

The sandbox has a network of its own with a loopback and nothing else. A `connect` to an address
outside waits here: the runner connects to that address in its place, and the sandbox's socket to
a gate on the sandbox's own loopback, and carries what comes between the two. No socket of the
machine's network ever lies in the sandbox, so whatever a caller changes while its call waits
leads into the sandbox's own network, which has no way out. Names are looked up likewise: by the
runner, for a name server inside. Datagrams other than those go nowhere.
"""

import asyncio
import ctypes
import errno
import ipaddress
import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from assay_sandboxes.bubblewrap.host.dns_forwarder import DnsForwarder, Place
from assay_sandboxes.bubblewrap.host.seccomp_notify import SeccompNotifications
from assay_sandboxes.bubblewrap.process_one.move_in import NAME_SERVER
from assay_sandboxes.guest import fast_files
from assay_sandboxes.guest.socket_addresses import DNS_PORT, is_own, parse_address
from assay_sandboxes.guest.syscall_numbers import CONNECT, PIDFD_GETFD
from assay_sandboxes.guest.waiting_calls import WaitingCall

Host = ipaddress.IPv4Address | ipaddress.IPv6Address

_CONNECT_S: Final = 10.0
"""The caller waits, even one that wanted to do something else meanwhile."""
_GATE_S: Final = 5.0
_CHUNK: Final = 256 * 1024
_CONNECTIONS: Final = 256
"""So many at once for one sandbox; the next is refused."""
_libc = ctypes.CDLL(None, use_errno=True)


async def dial(host: Host, port: int) -> socket.socket:
    """A connection to a place outside.

    Raises:
        OSError: there is none; or the place is this machine, or none that can be outside.
    """
    if host.is_link_local or host.is_multicast or host.is_reserved:
        # Link-local addresses are where clouds keep what a machine may know of itself.
        raise OSError(errno.ENETUNREACH, os.strerror(errno.ENETUNREACH))
    far = await connect(str(host), port)
    if far.getsockname()[0] == far.getpeername()[0]:
        # Who reaches an address from that very address is at home.
        far.close()
        raise OSError(errno.ENETUNREACH, os.strerror(errno.ENETUNREACH))
    return far


async def connect(host: str, port: int) -> socket.socket:
    """Raises OSError."""
    far = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        far.setblocking(False)
        async with asyncio.timeout(_CONNECT_S):
            await asyncio.get_running_loop().sock_connect(far, (host, port))
    except BaseException:
        far.close()
        raise
    return far


def machines_name_servers(settings: Path = Path("/etc/resolv.conf")) -> tuple[Place, ...]:
    """Those that this machine asks."""
    try:
        lines = [line.split() for line in settings.read_text().splitlines()]
    except OSError:
        return ()
    return tuple((words[1], DNS_PORT) for words in lines if words[:1] == ["nameserver"])


@dataclass(frozen=True, slots=True)
class Outside:
    """What lies beyond a sandbox with an open network."""

    dial: Callable[[Host, int], Awaitable[socket.socket]] = dial
    name_servers: Callable[[], Sequence[Place]] = machines_name_servers


class EgressProxy:
    """Carries one sandbox's connections and look-ups to the outside."""

    def __init__(self, descriptors: Sequence[int], outside: Outside) -> None:
        """Take over what the launcher sent: listener, name server's socket, gates."""
        listener, name_server, *gates = descriptors
        self._loop = asyncio.get_running_loop()
        self._outside = outside
        self._gates = {gate.family: gate for gate in map(_socket_from, gates)}
        self._arriving: dict[tuple[int, int], socket.socket] = {}
        """The far ends of connections that a gate is about to see, by the port they come from."""
        self._under_way: set[asyncio.Task[None]] = set()
        self.has_carried = False
        """Whether any call was taken in hand yet."""
        self._names = DnsForwarder(_socket_from(name_server), outside.name_servers())
        for gate in self._gates.values():
            self._loop.add_reader(gate, self._arrive, gate)
        self._notifications = SeccompNotifications(listener, self._hear)

    def close(self) -> None:
        self._notifications.close()
        self._names.close()
        for gate in self._gates.values():
            self._loop.remove_reader(gate)
            gate.close()
        for task in self._under_way:
            task.cancel()
        for far in self._arriving.values():
            far.close()

    def _hear(self, call: WaitingCall) -> None:
        try:
            going = self._destination_outside(call)
        except OSError:
            going = None  # the call fails by itself
        if going is None:
            self._notifications.let_go_on(call)
        elif len(self._under_way) >= _CONNECTIONS:
            going[0].close()
            self._notifications.end_with(call, errno.EAGAIN)
        else:
            self.has_carried = True
            self._start(self._connect_outside(call, *going))

    def _destination_outside(self, call: WaitingCall) -> tuple[socket.socket, Host, int] | None:
        """The caller's socket and where it is to go; none if the call is the sandbox's own affair.

        Raises OSError.
        """
        if call.number != CONNECT:
            return None
        place = next((parse_address(each.address) for each in call.messages()), None)
        if place is None or _is_inside(*place):
            return None
        near = _socket_of(call.thread, call.descriptor)
        if near.type != socket.SOCK_STREAM or near.family not in self._gates:
            near.close()
            return None
        return near, *place

    async def _connect_outside(
        self, call: WaitingCall, near: socket.socket, host: Host, port: int
    ) -> None:
        with near:
            try:
                far = await self._far_end(host, port)
            except TimeoutError:
                self._notifications.end_with(call, errno.ETIMEDOUT)
                return
            except OSError as error:
                self._notifications.end_with(call, error.errno or errno.ENETUNREACH)
                return
            if not self._notifications.still_waits(call):
                far.close()
                return
            self._notifications.end_with(call, await self._to_the_gate(near, far))

    async def _far_end(self, host: Host, port: int) -> socket.socket:
        if str(host) != NAME_SERVER:
            return await self._outside.dial(host, port)
        server, port = next(iter(self._outside.name_servers()), (NAME_SERVER, port))
        return await connect(server, port)

    async def _to_the_gate(self, near: socket.socket, far: socket.socket) -> int:
        """Connect the caller's own socket to the gate; the error number that the caller is given.

        Whether it blocks belongs to the socket, not to our descriptor: it is as it was afterwards.
        """
        blocking = os.get_blocking(near.fileno())
        os.set_blocking(near.fileno(), False)
        try:
            error = near.connect_ex(self._gates[near.family].getsockname())
            if error not in (0, errno.EINPROGRESS):
                far.close()
                return error
            came_from = near.family, near.getsockname()[1]
            self._arriving[came_from] = far
            if blocking and error:
                error = await _wait_connected(near)
                if error:
                    self._arriving.pop(came_from, far).close()
        finally:
            if blocking:
                os.set_blocking(near.fileno(), True)
        return error

    def _arrive(self, gate: socket.socket) -> None:
        with suppress(BlockingIOError):
            near, address = gate.accept()
            near.setblocking(False)
            far = self._arriving.pop((gate.family, address[1]), None)
            if far is None:
                near.close()  # it came to the gate by itself
            else:
                self._start(_carry_between(near, far))

    def _start(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)


def _is_inside(host: Host, port: int) -> bool:
    """Whether it is the sandbox's own, but for the name server's side for long answers."""
    if str(host) == NAME_SERVER and port == DNS_PORT:
        return False
    return is_own(host)


def _socket_from(descriptor: int) -> socket.socket:
    taken_over = socket.socket(fileno=descriptor)
    taken_over.setblocking(False)
    return taken_over


def _socket_of(thread: int, descriptor: int) -> socket.socket:
    """Another process's socket, shared with it. Raises OSError."""
    status = fast_files.read_text(f"/proc/{thread}/status").splitlines()
    process = next(int(line.split()[1]) for line in status if line.startswith("Tgid:"))
    handle = os.pidfd_open(process)
    try:
        copied = _libc.syscall(PIDFD_GETFD, handle, descriptor, 0)
        if copied < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    finally:
        os.close(handle)
    return socket.socket(fileno=copied)


async def _wait_connected(near: socket.socket) -> int:
    """Wait for the end of a connection's beginning; its error number, or 0."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_writer(near, ready.set)
    try:
        async with asyncio.timeout(_GATE_S):
            await ready.wait()
    except TimeoutError:
        return errno.ETIMEDOUT
    finally:
        loop.remove_writer(near)
    return near.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)


async def _carry_between(one: socket.socket, other: socket.socket) -> None:
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
