"""From what was written down inside a sandbox to calls, none counted twice."""

import ipaddress
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from assay_sandboxes.guest import strace_log
from assay_sandboxes.guest.socket_addresses import DNS_PORT
from assay_sandboxes.logical_calls import LogicalCalls
from assay_sandboxes.own_names import is_own_name, without_search_domain
from assay_sandboxes.port import COMMAND_CHARS, ObservedCall, RunningProgram, SandboxUnavailable


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
    """Of the thread."""
    fd: int
    process: str | None = None
    """None where it is not known."""
    programs: tuple[RunningProgram, ...] = ()

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
_PROGRAMS: TypeAdapter[list[tuple[str, str]]] = TypeAdapter(list[tuple[str, str]])


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
    return _events(_with_programs(lines[1:]))


def _with_programs(lines: Iterable[dict[str, object]]) -> Iterator[dict[str, object]]:
    """The events, each with what its process ran at the time."""
    programs: dict[object, object] = {}
    for line in lines:
        if "programs" in line:
            programs[line.get("process")] = [
                {"command_line": command_line, "folder": folder}
                for command_line, folder in _PROGRAMS.validate_python(line["programs"])
            ]
        else:
            yield {**line, "programs": programs.get(line.get("process"), ())}


def parse_strace(text: str) -> list[Event]:
    """The events that `strace` wrote down."""
    return _events(strace_log.events(iter(text.splitlines())))


def _events(written: Iterable[dict[str, object]]) -> list[Event]:
    try:
        return _EVENTS.validate_python(list(written))
    except ValidationError as error:
        raise SandboxUnavailable(f"network calls were not measured: {error}") from error


def calls_of(
    events: Sequence[Event], command: AskedCommand, host: str, search: Collection[str] = ()
) -> list[ObservedCall]:
    """The calls that one command made, in a sandbox of that name.

    A look-up is one attempt, though a resolver asks for two kinds of address, asks again when no
    answer comes, asks under the sandbox's `search` domains, and connects to the name server
    first. A connection, or one datagram, is one attempt each. Attempts of one process for one
    place are one call.
    """
    calls = LogicalCalls()
    looked_up: Counter[tuple[str | None, str]] = Counter()
    asked: Counter[tuple[str | None, str, int]] = Counter()
    for event in _without_repeats(_without_resolving(events, host, search)):
        if isinstance(event, Queried):
            destination = without_search_domain(event.ask, search)
            asked[event.process, event.ask, event.kind] += 1
            if asked[event.process, event.ask, event.kind] <= looked_up[event.process, destination]:
                continue
            looked_up[event.process, destination] += 1
        else:
            destination = event.to
        calls.add(
            ObservedCall(
                at=datetime.fromtimestamp(event.t, UTC),
                destination=destination,
                command=command.text[:COMMAND_CHARS],
                cwd=command.cwd,
                process=event.process,
                programs=event.programs,
            )
        )
    return calls.listed()


def _without_resolving(
    events: Sequence[Event], host: str, search: Collection[str]
) -> Iterable[Event]:
    """Leave out what goes to the sandbox itself, and connections that questions went over."""
    for position, event in enumerate(events):
        if isinstance(event, Queried):
            name = without_search_domain(event.ask, search)
            if name != host.lower() and not is_own_name(name):
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
