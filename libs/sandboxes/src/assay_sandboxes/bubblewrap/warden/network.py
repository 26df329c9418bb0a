"""The network of one sandbox, as its warden has it in hand.

Three witnesses, none of which the sandbox can silence: the name server that its resolver asks
sees names; the system call filter asks before every call that names an address; and the kernel
counts, for the network namespace, what it had no route for. Every sandbox begins without a way
out, and is the same to look at from inside whether it is given one or not.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from assay_sandboxes.bubblewrap.warden.call_ledger import CallLedger
from assay_sandboxes.bubblewrap.warden.calling_processes import CallingProcesses, socket_of
from assay_sandboxes.bubblewrap.warden.carrier import Carrier
from assay_sandboxes.bubblewrap.warden.dns_answers import addresses_in
from assay_sandboxes.bubblewrap.warden.egress_policy import EgressPolicy
from assay_sandboxes.bubblewrap.warden.name_server import NameServer
from assay_sandboxes.bubblewrap.warden.seccomp_notify import SeccompNotifications
from assay_sandboxes.guest.dns_questions import first_question
from assay_sandboxes.guest.socket_addresses import DNS_PORT, is_own, parse_address, written
from assay_sandboxes.guest.syscall_numbers import CONNECT
from assay_sandboxes.own_names import is_own_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay_sandboxes.bubblewrap.warden.call_ledger import SeenCall
    from assay_sandboxes.bubblewrap.warden.calling_processes import CallingProcess
    from assay_sandboxes.bubblewrap.warden.orders import Begun, WatchOrder
    from assay_sandboxes.guest.socket_addresses import Host
    from assay_sandboxes.guest.waiting_calls import WaitingCall

_VERSION_6: Final = "Ip6OutNoRoutes"
_MOST_ADDRESSES: Final = 4096
_MOST_NAMES: Final = 16
"""Of one address."""
_SETTLE_S: Final = 0.005


class KernelCounters:
    """The kernel's count of what a network namespace had no route for."""

    def __init__(self, descriptors: Sequence[int]) -> None:
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


class WatchedNetwork:
    """Hears of what a sandbox reaches for, writes it down, and carries what may be carried."""

    def __init__(self, order: WatchOrder, descriptors: Sequence[int]) -> None:
        """Take over the descriptors that come with an order."""
        listener, datagrams, connections, *others = descriptors
        counters = KernelCounters(others[: order["counters"]])
        self._carries = order["carry"]
        self._begun = False
        self._shares_sockets = False
        # On an open network only what was let through to the kernel can have no route.
        witness = (lambda: 0) if self._carries else counters.without_route
        self.ledger = CallLedger(witness, search=order["search"])
        self._policy = EgressPolicy(order["policy"])
        self._callers = CallingProcesses()
        self._found_under: dict[str, set[str]] = {}
        """By address, the names that it was found under."""
        self._carrier = Carrier(
            [_taken_over(gate) for gate in others[order["counters"] :]],
            {host: (to, port) for host, (to, port) in order["detours"].items()},
        )
        self._names = NameServer(
            _taken_over(datagrams),
            servers=[(host, port) for host, port in order["name_servers"]],
            hear_question=self._hear_question,
            hear_answer=self._hear_answer,
        )
        self._serving = asyncio.ensure_future(
            self._names.serve_connections(_taken_over(connections))
        )
        self._notifications = SeccompNotifications(listener, self._hear)

    def begin(self) -> Begun:
        """The probe is over: forget it, and carry from now on if that is asked for."""
        self._names.serve()
        self._begun = True
        if self._carries:
            self._names.start_forwarding()
        return {"attempts": self.ledger.forget(), "shares_sockets": self._shares_sockets}

    async def calls(self) -> list[SeenCall]:
        """What was attempted so far, questions just sent included."""
        await asyncio.sleep(_SETTLE_S)
        if self._serving.done():  # a witness that is gone has not seen everything
            self._serving.result()
        self._names.serve()
        return self.ledger.listed()

    def _hear(self, call: WaitingCall) -> None:
        try:
            messages = call.messages()
        except OSError:
            self._notifications.let_go_on(call)  # the kernel still counts it
            return
        caller = None
        with suppress(OSError):  # who cannot be told apart is watched all the same
            caller = self._callers.of(call.thread)
        if not self._notifications.still_waits(call):
            return
        for message in messages:
            place = parse_address(message.address, connecting=call.number == CONNECT)
            if place is None:
                continue
            if not is_own(place[0]):
                # The kernel stops at the first message that it has no route for.
                self._take_outside(call, caller, *place)
                return
            if place[1] == DNS_PORT and caller is not None:
                self._callers.turned_to_name_server(call, caller)
            elif self._carries and self._begun and self._policy.is_index(*place):
                self._take_outside(call, caller, *place)
                return
        self._notifications.let_go_on(call)

    def _take_outside(
        self, call: WaitingCall, caller: CallingProcess | None, host: Host, port: int
    ) -> None:
        """Write down where a call goes, and end it, carry it, or let the kernel refuse it."""
        near = self._socket_to_connect(call)
        names = self._found_under.get(str(host), set())
        by_kernel = near is None or not self._begun
        refused = None
        if self._carries and not by_kernel:
            refused = self._policy.refusal(host, port, names)
        entered = self._enter(caller, host, port, refused, let_go_on=by_kernel)
        if near is None or by_kernel:
            if near is not None:
                near.close()
            self._notifications.let_go_on(call)
        elif refused or not self._carries:
            near.close()
            self._notifications.end_with(call, errno.ENETUNREACH)
        elif self._carrier.is_full:
            near.close()
            self._notifications.end_with(call, errno.EAGAIN)
        else:

            def end(error: int) -> None:
                reached = error in (0, errno.EINPROGRESS)
                self.ledger.came_of(entered, caller, None if reached else "unreachable")
                self._notifications.end_with(call, error)

            self._carrier.start(
                near,
                host,
                port,
                still_wanted=lambda: self._notifications.still_waits(call),
                end=end,
            )

    def _socket_to_connect(self, call: WaitingCall) -> socket.socket | None:
        """The caller's socket; none where the call is nothing that is carried."""
        if call.number != CONNECT:
            return None
        try:
            near = socket_of(call.thread, call.descriptor)
        except OSError:
            return None  # the call fails by itself
        self._shares_sockets = True
        if not self._carrier.can_carry(near):
            near.close()
            return None
        return near

    def _enter(
        self,
        caller: CallingProcess | None,
        host: Host,
        port: int,
        refused: str | None,
        *,
        let_go_on: bool,
    ) -> str:
        """Write an attempt down; under which name of the place it stands."""
        names = sorted(self._found_under.get(str(host), ()))
        for name in names:
            # To look a name up and then go there is to try once.
            if caller is not None and self.ledger.has_looked_up(name, caller):
                if refused:
                    self.ledger.came_of(name, caller, "denied", refused)
                return name
        place = names[0] if names else written(host, port)
        self.ledger.address(place, caller, refused=refused, let_go_on=let_go_on)
        return place

    def _hear_question(self, question: bytes, port: int) -> None:
        parsed = first_question(question)
        if parsed is not None and not is_own_name(self.ledger.meant(parsed[0])):
            self.ledger.lookup(parsed[0], parsed[1], self._callers.asking(port))

    def _hear_answer(self, answer: bytes) -> None:
        name, addresses = addresses_in(answer)
        self.ledger.answered(name, found=bool(addresses))
        for address in addresses:
            if len(self._found_under) < _MOST_ADDRESSES or address in self._found_under:
                names = self._found_under.setdefault(address, set())
                if len(names) < _MOST_NAMES:
                    names.add(self.ledger.meant(name))


def _taken_over(descriptor: int) -> socket.socket:
    taken = socket.socket(fileno=descriptor)
    taken.setblocking(False)
    return taken
