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
import os
import secrets
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from assay_agentkit.concurrency import run_all
from assay_sandbox_runner.adapters.bubblewrap.notices import (
    CONNECT,
    Host,
    Notice,
    Notices,
    parse_address,
)
from assay_sandbox_runner.adapters.inside.first import NAME_SERVER

Place = tuple[str, int]

_CONNECT_S: Final = 10.0
"""The caller waits, even one that wanted to do something else meanwhile."""
_GATE_S: Final = 5.0
_CHUNK: Final = 256 * 1024
_CONNECTIONS: Final = 256
"""So many at once for one sandbox; the next is refused."""
_QUESTIONS: Final = 512
"""So many unanswered look-ups at once; older ones are forgotten."""
_DNS_PORT: Final = 53
_PIDFD_GETFD: Final = 438
_libc = ctypes.CDLL(None, use_errno=True)


async def dial(host: Host, port: int) -> socket.socket:
    """A connection to a place outside.

    Raises:
        OSError: there is none; or the place is this machine, or none that can be outside.
    """
    if host.is_link_local or host.is_multicast or host.is_reserved:
        # Link-local addresses are where clouds keep what a machine may know of itself.
        raise OSError(errno.ENETUNREACH, os.strerror(errno.ENETUNREACH))
    far = await connected(str(host), port)
    if far.getsockname()[0] == far.getpeername()[0]:
        # Who reaches an address from that very address is at home.
        far.close()
        raise OSError(errno.ENETUNREACH, os.strerror(errno.ENETUNREACH))
    return far


async def connected(host: str, port: int) -> socket.socket:
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
    return tuple((words[1], _DNS_PORT) for words in lines if words[:1] == ["nameserver"])


@dataclass(frozen=True, slots=True)
class Outside:
    """What lies beyond a sandbox with an open network."""

    dial: Callable[[Host, int], Awaitable[socket.socket]] = dial
    name_servers: Callable[[], Sequence[Place]] = machines_name_servers


class Carrier:
    """Carries one sandbox's connections and look-ups."""

    def __init__(self, descriptors: Sequence[int], outside: Outside) -> None:
        """Take over what the launcher sent: listener, name server's socket, gates."""
        listener, name_server, *gates = descriptors
        self._loop = asyncio.get_running_loop()
        self._outside = outside
        self._gates = {gate.family: gate for gate in map(_adopted, gates)}
        self._arriving: dict[tuple[int, int], socket.socket] = {}
        """The far ends of connections that a gate is about to see, by the port they come from."""
        self._under_way: set[asyncio.Task[None]] = set()
        self.carries = False
        """Whether any call was taken in hand yet."""
        self._names = NameForwarder(_adopted(name_server), outside.name_servers())
        for gate in self._gates.values():
            self._loop.add_reader(gate, self._arrive, gate)
        self._notices = Notices(listener, self._hear)

    def close(self) -> None:
        self._notices.close()
        self._names.close()
        for gate in self._gates.values():
            self._loop.remove_reader(gate)
            gate.close()
        for task in self._under_way:
            task.cancel()
        for far in self._arriving.values():
            far.close()

    def _hear(self, notice: Notice) -> None:
        try:
            going = self._going_out(notice)
        except OSError:
            going = None  # the call fails by itself
        if going is None:
            self._notices.go_on(notice)
        elif len(self._under_way) >= _CONNECTIONS:
            going[0].close()
            self._notices.give(notice, errno.EAGAIN)
        else:
            self.carries = True
            self._start(self._carry_out(notice, *going))

    def _going_out(self, notice: Notice) -> tuple[socket.socket, Host, int] | None:
        """The caller's socket and where it is to go; none if the call is the sandbox's own affair.

        Raises OSError.
        """
        if notice.call != CONNECT:
            return None
        (address,) = notice.addresses()
        place = parse_address(address)
        if place is None or _is_inside(*place):
            return None
        near = _socket_of(notice.process, notice.arguments[0] & 0xFFFFFFFF)
        if near.type != socket.SOCK_STREAM or near.family not in self._gates:
            near.close()
            return None
        return near, *place

    async def _carry_out(self, notice: Notice, near: socket.socket, host: Host, port: int) -> None:
        with near:
            try:
                far = await self._far_end(host, port)
            except TimeoutError:
                self._notices.give(notice, errno.ETIMEDOUT)
                return
            except OSError as error:
                self._notices.give(notice, error.errno or errno.ENETUNREACH)
                return
            if not self._notices.waits(notice):
                far.close()
                return
            self._notices.give(notice, await self._to_the_gate(near, far))

    async def _far_end(self, host: Host, port: int) -> socket.socket:
        if str(host) != NAME_SERVER:
            return await self._outside.dial(host, port)
        server, port = next(iter(self._outside.name_servers()), (NAME_SERVER, port))
        return await connected(server, port)

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
                error = await _connected(near)
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
                self._start(_between(near, far))

    def _start(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)


class NameForwarder:
    """Passes questions on to the machine's name servers, and the first answer to each back."""

    def __init__(self, inside: socket.socket, servers: Sequence[Place]) -> None:
        """Serve on a bound socket, which is closed by `close`."""
        self._inside = inside
        self._loop = asyncio.get_running_loop()
        self._asked: dict[int, tuple[bytes, Place]] = {}
        """By the number a question was passed on with: its own number, and who asked."""
        self._servers: list[socket.socket] = []
        for host, port in servers:
            server = socket.socket(
                socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM
            )
            server.setblocking(False)
            try:
                server.connect((host, port))
            except OSError:
                server.close()
                continue
            self._servers.append(server)
            self._loop.add_reader(server, self._answer, server)
        self._loop.add_reader(inside, self._ask)

    def close(self) -> None:
        for each in (self._inside, *self._servers):
            self._loop.remove_reader(each)
            each.close()

    def _ask(self) -> None:
        with suppress(OSError):
            question, asker = self._inside.recvfrom(4096)
            if len(self._asked) >= _QUESTIONS:
                del self._asked[next(iter(self._asked))]
            number = secrets.randbelow(1 << 16)
            self._asked[number] = question[:2], asker
            for server in self._servers:
                with suppress(OSError):
                    server.send(number.to_bytes(2, "big") + question[2:])

    def _answer(self, server: socket.socket) -> None:
        with suppress(OSError):
            answer = server.recv(65536)
            found = self._asked.pop(int.from_bytes(answer[:2], "big"), None)
            if found is not None:
                number, asker = found
                self._inside.sendto(number + answer[2:], asker)


def _is_inside(host: Host, port: int) -> bool:
    """Whether it is the sandbox's own, but for the name server's side for long answers."""
    if str(host) == NAME_SERVER and port == _DNS_PORT:
        return False
    return host.is_loopback or host.is_unspecified


def _adopted(descriptor: int) -> socket.socket:
    adopted = socket.socket(fileno=descriptor)
    adopted.setblocking(False)
    return adopted


def _socket_of(thread: int, descriptor: int) -> socket.socket:
    """Another process's socket, shared with it. Raises OSError."""
    with open(f"/proc/{thread}/status") as status:  # noqa: PTH123
        process = next(int(line.split()[1]) for line in status if line.startswith("Tgid:"))
    handle = os.pidfd_open(process)
    try:
        copied = _libc.syscall(_PIDFD_GETFD, handle, descriptor, 0)
        if copied < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    finally:
        os.close(handle)
    return socket.socket(fileno=copied)


async def _connected(near: socket.socket) -> int:
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


async def _between(one: socket.socket, other: socket.socket) -> None:
    """Carry what comes from either to the other, until both have said all or one has broken."""
    # Both ways have ended before a socket is closed: the event loop must not go on watching it.
    with one, other, suppress(OSError):
        await run_all([_one_way(one, other), _one_way(other, one)])


async def _one_way(source: socket.socket, target: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    while chunk := await loop.sock_recv(source, _CHUNK):
        await loop.sock_sendall(target, chunk)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
