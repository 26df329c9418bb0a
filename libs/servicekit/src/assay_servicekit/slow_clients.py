"""HTTP connections that cannot be held open for nothing.

uvicorn has a deadline for idle connections and none for half-sent requests: whoever opens a
thousand of those has all the descriptors of an ordinary user's process. So who does not send is
closed, who has too many connections loses the one that has waited longest, and all that before
any part of a request is looked at.
"""

import asyncio
import resource
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import Final

import h11
from prometheus_client import Counter
from uvicorn.protocols.http.h11_impl import H11Protocol

SPARE_DESCRIPTORS: Final = 256
"""For files, the bus and the database; the rest is for connections."""

CLOSED = Counter(
    "assay_http_connections_closed_total",
    "Connections that were closed because they were slow or too many.",
    ("reason",),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientLimits:
    """What one client may take."""

    headers_within_s: float = 10.0
    """From the connection, or the first byte of a next request, to the end of its headers."""
    body_pause_s: float = 10.0
    """A body under way must bring `body_bytes` within each of these."""
    body_bytes: int = 4096
    reading_pause_s: float = 60.0
    """A client that reads nothing of its answer for so long has gone."""
    per_address: int = 256
    """Connections of one address."""
    trusted: tuple[str, ...] = ()
    """Addresses and networks that speak for many clients, and so have no bound of their own."""

    def trusts(self, address: str) -> bool:
        try:
            return any(ip_address(address) in ip_network(each) for each in self.trusted)
        except ValueError:
            return False


def most_connections() -> int:
    """All that this process can have open at once."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(soft - SPARE_DESCRIPTORS, SPARE_DESCRIPTORS)


def bounded(limits: ClientLimits) -> "type[PatientProtocol]":
    """The protocol for one server: what it counts is that server's."""

    class Bounded(PatientProtocol):
        pass

    Bounded.limits, Bounded.total, Bounded.waiting = limits, most_connections(), {}
    return Bounded


class PatientProtocol(H11Protocol):
    """HTTP/1.1 as uvicorn speaks it, within limits."""

    limits: ClientLimits
    total: int
    waiting: "dict[PatientProtocol, None]"
    """Those that have not sent a whole request, the one that waits longest first."""

    _deadline: asyncio.TimerHandle | None = None
    _reading_deadline: asyncio.TimerHandle | None = None
    _received = 0

    # -- connections ----------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn's
        super().connection_made(transport)
        self._await_headers()
        if len(self.connections) > self.total:
            self._make_room("total", list(self.waiting))
        address = self.address()
        if not self.limits.trusts(address):
            same = [each for each in self._neighbours() if each.address() == address]
            if len(same) > self.limits.per_address:
                self._make_room("per_address", [each for each in self.waiting if each in same])

    def _neighbours(self) -> "list[PatientProtocol]":
        return [each for each in self.connections if isinstance(each, PatientProtocol)]

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._stop_reading_deadline()
        super().connection_lost(exc)

    def address(self) -> str:
        return self.client[0] if self.client else ""

    def _make_room(self, reason: str, waiting: "list[PatientProtocol]") -> None:
        # The newest is among them: it goes only when all others are at work.
        (waiting[0] if waiting else self).close_for(reason)

    def close_for(self, reason: str) -> None:
        CLOSED.labels(reason).inc()
        self.connections.discard(self)
        self._stop_waiting()
        self.transport.abort()

    # -- requests -------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        idle = self.conn.their_state is h11.IDLE
        if idle and self not in self.waiting:
            self._await_headers()
        super().data_received(data)
        if self.transport.is_closing():
            return
        state = self.conn.their_state
        if state is h11.SEND_BODY:
            if self in self.waiting:
                self._await_body()
        elif state is not h11.IDLE:
            self._stop_waiting()

    def _await_headers(self) -> None:
        self._wait(self.limits.headers_within_s, lambda: self.close_for("headers"))

    def _await_body(self) -> None:
        before = self._received

        def look() -> None:
            # While we do not read, it cannot send.
            if self._received - before < self.limits.body_bytes and not self.flow.read_paused:
                self.close_for("body")
            elif self.conn.their_state is h11.SEND_BODY:
                self._await_body()

        self._wait(self.limits.body_pause_s, look)
        # It has sent its headers: it is not the first to go.
        self.waiting.pop(self, None)

    def _wait(self, seconds: float, then: Callable[[], None]) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self.waiting.setdefault(self)
        self._deadline = self.loop.call_later(seconds, then)

    def _stop_waiting(self) -> None:
        self.waiting.pop(self, None)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    # -- answers --------------------------------------------------------------------------------

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stop_reading_deadline()
        self._reading_deadline = self.loop.call_later(
            self.limits.reading_pause_s, lambda: self.close_for("reading")
        )

    def resume_writing(self) -> None:
        self._stop_reading_deadline()
        super().resume_writing()

    def _stop_reading_deadline(self) -> None:
        if self._reading_deadline is not None:
            self._reading_deadline.cancel()
            self._reading_deadline = None
