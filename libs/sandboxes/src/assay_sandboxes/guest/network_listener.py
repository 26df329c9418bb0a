"""Watching, from inside, where a command and all it starts try to go.

For sandboxes whose outside is somebody else's. A listener above the command hears of every system
call that names a destination before the kernel acts on it, reads the destination from the caller's
memory, writes it down and lets the call go on. What it writes, a line of JSON for each event:

    {"t", "pid", "fd", "to": "address:port"}      a connection, or a datagram
    {"t", "pid", "fd", "ask": name, "kind", "id"}  a question to a name server
    {"lost": why}                                  a call that could not be read
"""

from __future__ import annotations

import errno
import json
import os
import time

from assay_sandboxes.guest import waiting_calls
from assay_sandboxes.guest.dns_questions import parse_query
from assay_sandboxes.guest.socket_addresses import DNS_PORT, is_own, parse_address, written
from assay_sandboxes.guest.syscall_numbers import CONNECT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from assay_sandboxes.guest.waiting_calls import Message, WaitingCall

_MOST_EVENTS = 1000
"""Events beyond this many are not written down."""
_PAYLOAD_BYTES = 512


class Listener:
    """Hears of calls at a system call filter and writes them to a log."""

    def __init__(self, descriptor: int, log: int, refused_ports: Collection[int]) -> None:
        """Connections to `refused_ports` of the sandbox's own loopback are refused."""
        self.descriptor = descriptor
        self._log = log
        self._refused_ports = refused_ports
        self._events = 0

    def hear(self) -> None:
        """Take one call, write down where it goes, and let it go on."""
        call = waiting_calls.receive(self.descriptor)
        if call is None:
            return
        try:
            messages = call.messages(payload_bytes=_PAYLOAD_BYTES)
        except OSError as error:
            if waiting_calls.still_waits(self.descriptor, call):
                self._write({"lost": str(error)})
            messages = []
        if waiting_calls.still_waits(self.descriptor, call):
            for message in messages:
                self._enter(call, message)
        if call.number == CONNECT and any(map(self._is_refused, messages)):
            waiting_calls.end_with(self.descriptor, call, errno.ECONNREFUSED)
        else:
            waiting_calls.let_go_on(self.descriptor, call)

    def _is_refused(self, message: Message) -> bool:
        place = parse_address(message.address)
        return place is not None and is_own(place[0]) and place[1] in self._refused_ports

    def _enter(self, call: WaitingCall, message: Message) -> None:
        event: dict[str, object] = {"t": time.time(), "pid": call.thread, "fd": call.descriptor}
        connecting = call.number == CONNECT
        place = parse_address(message.address, connecting=connecting)
        query = None
        if not connecting and (place is None or place[1] == DNS_PORT):
            query = parse_query(message.payload)
        if query is not None:
            event["ask"], event["kind"], event["id"] = query
        elif place is not None and (not is_own(place[0]) or place[1] == DNS_PORT):
            event["to"] = written(*place)
        else:
            return
        self._write(event)

    def _write(self, event: dict[str, object]) -> None:
        self._events += 1
        if self._events <= _MOST_EVENTS:
            os.write(self._log, (json.dumps(event) + "\n").encode())
