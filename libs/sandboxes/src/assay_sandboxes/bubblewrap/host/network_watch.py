"""Watching, from outside, what a sandbox without a network tries to reach.

Three witnesses, none of which the sandbox can silence: the name server that its resolver asks
sees names; the system call filter asks before every call that names an address; and the kernel
counts, for the network namespace, what it had no route for.
"""

import os
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Final

from assay_sandboxes.bubblewrap.host.call_ledger import CallLedger
from assay_sandboxes.bubblewrap.host.name_server import NameServer
from assay_sandboxes.bubblewrap.host.seccomp_notify import SeccompNotifications
from assay_sandboxes.guest import fast_files
from assay_sandboxes.guest.socket_addresses import DNS_PORT, is_own, parse_address, written
from assay_sandboxes.guest.syscall_numbers import CONNECT
from assay_sandboxes.guest.waiting_calls import WaitingCall
from assay_sandboxes.port import ObservedCall

_ENVIRONMENT_BYTES: Final = 256 * 1024
_VERSION_6: Final = "Ip6OutNoRoutes"


class KernelCounters:
    """The kernel's count of what a network namespace had no route for."""

    def __init__(self, descriptors: list[int]) -> None:
        self._descriptors = descriptors

    def without_route(self) -> int:
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


class DestinationWatch:
    """Hears of every system call that names a destination, before the kernel acts on it.

    The call always goes on: it is the missing route that blocks it.
    """

    def __init__(self, listener: int, ledger: CallLedger) -> None:
        self._ledger = ledger
        self._resolving: deque[tuple[int, int | None]] = deque(maxlen=64)
        """Who lately turned to the name server: process, number of its command."""
        self._notifications = SeccompNotifications(listener, self._hear)

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

    def _hear(self, call: WaitingCall) -> None:
        self._enter(call)
        self._notifications.let_go_on(call)

    def _enter(self, call: WaitingCall) -> None:
        try:
            messages = call.messages()
            number = _command_number(call.thread)
        except OSError:
            return  # the kernel still counts it if it comes to anything
        if not self._notifications.still_waits(call):
            return
        for message in messages:
            place = parse_address(message.address, connecting=call.number == CONNECT)
            if place is None:
                continue
            host, port = place
            if is_own(host):
                if port == DNS_PORT:
                    self._resolving.append((call.thread, number))
                continue
            self._ledger.address(written(host, port), number)
            # The kernel stops at the first message that it has no route for.
            break

    def close(self) -> None:
        self._notifications.close()


def _has_datagram_port(process: int, port: int) -> bool:
    """Whether a process has a datagram socket open that is bound to a local port."""
    for table in ("udp", "udp6"):
        with suppress(FileNotFoundError):
            sockets = fast_files.read_text(f"/proc/{process}/net/{table}").splitlines()[1:]
            for fields in map(str.split, sockets):
                if int(fields[1].rpartition(":")[2], 16) == port:
                    name = f"socket:[{fields[9]}]"
                    if any(str(path.readlink()) == name for path in _descriptors(process)):
                        return True
    return False


def _descriptors(process: int) -> Iterator[Path]:
    return Path(f"/proc/{process}/fd").iterdir()


def _command_number(process: int) -> int | None:
    """The command that a process belongs to, by the variable it was started with."""
    # A process can make its environment appear to be all of its memory.
    with Path(f"/proc/{process}/environ").open("rb", buffering=0) as environment:
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
        self.ledger = CallLedger(self._counters.without_route)
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
