"""From what was written down inside a sandbox to calls, none counted twice."""

import ipaddress
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from assay_sandboxes.guest import strace_log
from assay_sandboxes.guest.socket_addresses import DNS_PORT
from assay_sandboxes.own_names import is_own_name
from assay_sandboxes.port import COMMAND_CHARS, ObservedCall, SandboxUnavailable


@dataclass(frozen=True, slots=True)
class AskedCommand:
    """A command that was asked for."""

    text: str
    cwd: str


class _Seen(BaseModel):
    """What every event has."""

    model_config = ConfigDict(frozen=True)

    t: float
    pid: int
    fd: int

    @property
    def socket(self) -> tuple[int, int]:
        return self.pid, self.fd


class Reached(_Seen):
    """A connection, or a datagram."""

    to: str


class Queried(_Seen):
    """A question to a name server."""

    ask: str
    kind: int
    id: int


Event = Reached | Queried
_EVENTS: TypeAdapter[list[Event]] = TypeAdapter(list[Event])


def parse_log(text: str) -> list[Event]:
    """The events that a listener wrote down.

    Raises:
        SandboxUnavailable: it did not see everything, so nobody knows how many there were.
    """
    try:
        lines = [json.loads(line) for line in text.splitlines()]
    except ValueError:
        lines = []
    if lines[:1] != [{"method": "seccomp"}]:
        raise SandboxUnavailable(
            "network calls were not measured: what was written down of them is gone or damaged"
        )
    for line in lines[1:]:
        if "lost" in line:
            raise SandboxUnavailable(f"network calls were not measured: {line['lost']}")
    return _events(lines[1:])


def parse_strace(text: str) -> list[Event]:
    """The events that `strace` wrote down."""
    return _events(list(strace_log.events(iter(text.splitlines()))))


def _events(written: list[dict[str, object]]) -> list[Event]:
    try:
        return _EVENTS.validate_python(written)
    except ValidationError as error:
        raise SandboxUnavailable(f"network calls were not measured: {error}") from error


def calls_of(events: Sequence[Event], command: AskedCommand, host: str) -> list[ObservedCall]:
    """The calls that one command made, in a sandbox of that name.

    A look-up is one call, though a resolver asks for two kinds of address, asks again when no
    answer comes, and connects to the name server first. A connection, or one datagram, is one
    call each.
    """
    calls: list[ObservedCall] = []
    looked_up: Counter[str] = Counter()
    asked: Counter[tuple[str, int]] = Counter()
    for event in _without_repeats(_without_resolving(events, host)):
        if isinstance(event, Queried):
            asked[event.ask, event.kind] += 1
            if asked[event.ask, event.kind] <= looked_up[event.ask]:
                continue
            looked_up[event.ask] += 1
            destination = event.ask
        else:
            destination = event.to
        at = datetime.fromtimestamp(event.t, UTC)
        calls.append(ObservedCall(at, destination, command.text[:COMMAND_CHARS], command.cwd))
    return calls


def _without_resolving(events: Sequence[Event], host: str) -> Iterable[Event]:
    """Leave out what goes to the sandbox itself, and connections that questions went over."""
    for position, event in enumerate(events):
        if isinstance(event, Queried):
            if event.ask != host.lower() and not is_own_name(event.ask):
                yield event
            continue
        address, _, port = event.to.rpartition(":")
        place = ipaddress.ip_address(address.strip("[]"))
        if place.is_loopback or place.is_unspecified:
            continue
        if int(port) != DNS_PORT or not _is_asked_over(event, events[position + 1 :]):
            yield event


def _is_asked_over(connection: Reached, later: Sequence[Event]) -> bool:
    same_socket = (event for event in later if event.socket == connection.socket)
    return isinstance(next(same_socket, None), Queried)


def _without_repeats(events: Iterable[Event]) -> Iterable[Event]:
    """Leave out questions that a resolver sent again: they have the number of the first."""
    seen: set[tuple[int, int, str, int]] = set()
    for event in events:
        if isinstance(event, Queried):
            question = (event.pid, event.id, event.ask, event.kind)
            if question in seen:
                continue
            seen.add(question)
        yield event
