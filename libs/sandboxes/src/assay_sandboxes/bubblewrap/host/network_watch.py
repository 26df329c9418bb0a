"""Watching, from outside, what a sandbox without a network tries to reach.

Three witnesses, none of which the sandbox can silence: the name server that its resolver asks
sees names; the system call filter asks before every call that names an address; and the kernel
counts, for the network namespace, what it had no route for.
"""

import asyncio
import os
import socket
import struct
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final, NamedTuple

from assay_sandboxes.bubblewrap.host.seccomp_notify import Notice, Notices, parse_address
from assay_sandboxes.port import ObservedCall

UNKNOWN: Final = "unknown"
_LISTED: Final = 1000
"""Calls beyond this many are not listed."""
_COMMAND_LENGTH: Final = 200
_ENVIRONMENT_BYTES: Final = 256 * 1024
_DNS_PORT: Final = 53
_VERSION_6: Final = "Ip6OutNoRoutes"


class _Command(NamedTuple):
    text: str
    cwd: str | None
    """None where the command is but the likeliest."""


class CallLedger:
    """What was seen, without counting one call twice.

    One look-up of a name is one call, though a resolver asks for both kinds of address. One
    `connect`, or one datagram sent, to an address that is not the sandbox's own loopback is one
    call. Where the kernel counted more than was seen, the rest is listed as `unknown`.
    """

    def __init__(self, unroutable: Callable[[], int]) -> None:
        self._unroutable = unroutable
        self._commands: dict[int, _Command] = {}
        self._calls: list[ObservedCall] = []
        self._addressed = 0
        self._looked_up: Counter[tuple[_Command, str]] = Counter()
        self._asked: Counter[tuple[_Command, str, int]] = Counter()
        self._baseline = unroutable()

    def command_started(self, number: int, command: str, cwd: str) -> None:
        self._commands[number] = _Command(command[:_COMMAND_LENGTH], cwd)

    def address(self, destination: str, number: int | None) -> None:
        """Enter a call to an address by the command of that number, or else the last one."""
        self._addressed += 1
        self._enter(destination, self._command(number))

    def lookup(self, name: str, kind: int, number: int | None) -> None:
        """Enter a question for a name; `kind` is the DNS record type."""
        command = self._command(number)
        self._asked[command, name, kind] += 1
        if self._asked[command, name, kind] > self._looked_up[command, name]:
            self._looked_up[command, name] += 1
            self._enter(name, command)

    def settle(self) -> None:
        """Enter what the kernel counted and nobody else saw."""
        unseen = self._unroutable() - self._baseline - self._addressed
        for _ in range(min(unseen, _LISTED)):
            self.address(UNKNOWN, None)

    def calls(self) -> list[ObservedCall]:
        self.settle()
        return list(self._calls)

    def forget(self) -> None:
        """Start over: what was seen so far was our own doing."""
        self._calls.clear()
        self._looked_up.clear()
        self._asked.clear()
        self._addressed = 0
        self._baseline = self._unroutable()

    def _command(self, number: int | None) -> _Command:
        if number in self._commands:
            return self._commands[number]
        last = next(reversed(self._commands.values()), None)
        return _Command(last.text if last else "", None)

    def _enter(self, destination: str, command: _Command) -> None:
        if len(self._calls) < _LISTED:
            at = datetime.now(UTC)
            self._calls.append(ObservedCall(at, destination, command.text, command.cwd))


class KernelCounters:
    """The kernel's count of what a network namespace had no route for."""

    def __init__(self, descriptors: list[int]) -> None:
        self._descriptors = descriptors

    def unroutable(self) -> int:
        total = 0
        for descriptor in self._descriptors:
            lines = os.pread(descriptor, 1 << 16, 0).decode().splitlines()
            version_4 = [line.split() for line in lines if line.startswith("Ip:")]
            for names, values in pairwise(version_4):
                total += int(values[names.index("OutNoRoutes")])
            total += sum(int(line.split()[1]) for line in lines if line.startswith(_VERSION_6))
        return total

    def close(self) -> None:
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors = []


class NameServer:
    """Answers every question with "no such name" and enters it in the ledger."""

    def __init__(
        self, descriptor: int, ledger: CallLedger, asking: Callable[[int], int | None]
    ) -> None:
        """Serve on a bound socket; `asking` tells the number of the command by its port."""
        self._socket = socket.socket(fileno=descriptor)
        self._socket.setblocking(False)
        self._ledger = ledger
        self._asking = asking
        asyncio.get_running_loop().add_reader(self._socket, self.serve)

    def serve(self) -> None:
        """Answer what has come in."""
        with suppress(OSError):
            for _ in range(100):
                question, asker = self._socket.recvfrom(4096)
                self._answer(question, asker)

    def _answer(self, question: bytes, asker: tuple[str, int]) -> None:
        parsed = parse_question(question)
        if parsed is None:
            return
        name, kind, end = parsed
        if not is_own_name(name):
            self._ledger.lookup(name, kind, self._asking(asker[1]))
        no_such_name = question[:2] + b"\x81\x83" + question[4:6] + bytes(6) + question[12:end]
        self._socket.sendto(no_such_name, asker)

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._socket)
        self._socket.close()


def parse_question(packet: bytes) -> tuple[str, int, int] | None:
    """Name, record type, and end of the first question of a DNS packet."""
    position, labels = 12, []
    while position < len(packet) and (length := packet[position]):
        labels.append(packet[position + 1 : position + 1 + length].decode("latin-1"))
        position += 1 + length
    end = position + 5
    if not labels or end > len(packet):
        return None
    (kind,) = struct.unpack_from(">H", packet, position + 1)
    return ".".join(labels).lower(), kind, end


def is_own_name(name: str) -> bool:
    """Whether a name means the sandbox itself, so that asking for it reaches for nothing."""
    if name.endswith(".in-addr.arpa"):
        return name.split(".")[-3] in ("127", "0")
    loopback6 = "1." + "0." * 31 + "ip6.arpa"
    return name in ("localhost", "sandbox", loopback6) or name.endswith(".localhost")


class DestinationWatch:
    """Hears of every system call that names a destination, before the kernel acts on it.

    The call always goes on: it is the missing route that blocks it.
    """

    def __init__(self, listener: int, ledger: CallLedger) -> None:
        self._ledger = ledger
        self._resolving: deque[tuple[int, int | None]] = deque(maxlen=64)
        """Who lately turned to the name server: process, number of its command."""
        self._notices = Notices(listener, self._hear)

    def asking(self, port: int) -> int | None:
        """The number of the command that asks the name server from a port.

        Whoever asks is waiting for the answer, so it can still be found by its open socket.
        """
        recent = list(reversed(self._resolving))
        for process, number in recent:
            with suppress(OSError):
                if _has_datagram_port(process, port):
                    return number
        return recent[0][1] if recent else None

    def _hear(self, notice: Notice) -> None:
        self._enter(notice)
        self._notices.go_on(notice)

    def _enter(self, notice: Notice) -> None:
        try:
            addresses = notice.addresses()
            number = _command_number(notice.process)
        except OSError:
            return  # the kernel still counts it if it comes to anything
        if not self._notices.waits(notice):
            return
        for address in addresses:
            place = parse_address(address, notice.call)
            if place is None:
                continue
            host, port = place
            if host.is_loopback or host.is_unspecified:
                if port == _DNS_PORT:
                    self._resolving.append((notice.process, number))
                continue
            text = f"[{host}]:{port}" if host.version == 6 else f"{host}:{port}"  # noqa: PLR2004
            self._ledger.address(text, number)
            # The kernel stops at the first message that it has no route for.
            break

    def close(self) -> None:
        self._notices.close()


def _has_datagram_port(process: int, port: int) -> bool:
    """Whether a process has a datagram socket open that is bound to a local port."""
    for table in ("udp", "udp6"):
        with suppress(FileNotFoundError), open(f"/proc/{process}/net/{table}") as sockets:  # noqa: PTH123
            for line in sockets.readlines()[1:]:
                fields = line.split()
                if int(fields[1].rpartition(":")[2], 16) == port:
                    name, folder = f"socket:[{fields[9]}]", f"/proc/{process}/fd"
                    if name in (os.readlink(f"{folder}/{fd}") for fd in os.listdir(folder)):  # noqa: PTH115, PTH208
                        return True
    return False


def _command_number(process: int) -> int | None:
    """The command that a process belongs to, by the variable it was started with."""
    # A process can make its environment appear to be all of its memory.
    with open(f"/proc/{process}/environ", "rb", buffering=0) as environment:  # noqa: PTH123
        for variable in environment.read(_ENVIRONMENT_BYTES).split(b"\0"):
            name, _, value = variable.partition(b"=")
            if name == b"SANDBOX_COMMAND" and value.isdigit():
                return int(value)
    return None


class NetworkWatch:
    """All three witnesses over one network namespace."""

    def __init__(self, descriptors: list[int]) -> None:
        """Take over what the launcher sent: listener, name server's socket, counters."""
        listener, name_server, *counters = descriptors
        self._counters = KernelCounters(counters)
        self.ledger = CallLedger(self._counters.unroutable)
        self._destinations = DestinationWatch(listener, self.ledger)
        self._names = NameServer(name_server, self.ledger, self._destinations.asking)

    def calls(self) -> list[ObservedCall]:
        """What was attempted so far, questions just sent included."""
        self._names.serve()
        return self.ledger.calls()

    def close(self) -> None:
        self._names.close()
        self._destinations.close()
        self._counters.close()
