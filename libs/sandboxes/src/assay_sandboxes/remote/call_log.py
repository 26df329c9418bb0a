"""From what was written down inside a sandbox to calls, none counted twice."""

import ipaddress
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from assay_sandboxes.bubblewrap.host.network_watch import is_own_name
from assay_sandboxes.guest import strace_log
from assay_sandboxes.port import ObservedCall, SandboxUnavailable

_COMMAND_LENGTH: Final = 200
_DNS_PORT: Final = 53


@dataclass(frozen=True, slots=True)
class Asked:
    """A command that was asked for."""

    text: str
    cwd: str


def parse_log(text: str) -> list[Mapping[str, Any]]:
    """The events that a listener wrote down.

    Raises:
        SandboxUnavailable: it did not see everything, so nobody knows how many there were.
    """
    lines = text.splitlines()
    if not lines or json.loads(lines[0]) != {"method": "seccomp"}:
        raise SandboxUnavailable(
            "network calls were not measured: what was written down of them is gone or damaged"
        )
    events: list[Mapping[str, Any]] = [json.loads(line) for line in lines[1:]]
    for event in events:
        if "lost" in event:
            raise SandboxUnavailable(f"network calls were not measured: {event['lost']}")
    return events


def parse_trace(text: str) -> list[Mapping[str, Any]]:
    return list(strace_log.events(iter(text.splitlines())))


def calls_of(events: Sequence[Mapping[str, Any]], command: Asked, host: str) -> list[ObservedCall]:
    """The calls that one command made, in a sandbox of that name.

    A look-up is one call, though a resolver asks for two kinds of address, asks again when no
    answer comes, and connects to the name server first. A connection, or one datagram, is one
    call each.
    """
    calls: list[ObservedCall] = []
    looked_up: Counter[str] = Counter()
    asked: Counter[tuple[str, int]] = Counter()
    for event in _without_repeats(_without_resolving(events, host)):
        if "ask" in event:
            name, kind = event["ask"], event["kind"]
            asked[name, kind] += 1
            if asked[name, kind] <= looked_up[name]:
                continue
            looked_up[name] += 1
            destination = name
        else:
            destination = event["to"]
        at = datetime.fromtimestamp(event["t"], UTC)
        text = command.text[:_COMMAND_LENGTH]
        calls.append(ObservedCall(at, destination, text, command.cwd))
    return calls


def _without_resolving(
    events: Sequence[Mapping[str, Any]], host: str
) -> Iterable[Mapping[str, Any]]:
    """Leave out what goes to the sandbox itself, and connections that questions went over."""
    for position, event in enumerate(events):
        if "ask" in event:
            if event["ask"] != host.lower() and not is_own_name(event["ask"]):
                yield event
            continue
        address, _, port = event["to"].rpartition(":")
        place = ipaddress.ip_address(address.strip("[]"))
        if place.is_loopback or place.is_unspecified:
            continue
        if int(port) != _DNS_PORT or not _is_asked_over(event, events[position + 1 :]):
            yield event


def _is_asked_over(connection: Mapping[str, Any], later: Sequence[Mapping[str, Any]]) -> bool:
    socket = (connection["pid"], connection["fd"])
    for event in later:
        if (event["pid"], event["fd"]) == socket:
            return "ask" in event
    return False


def _without_repeats(events: Iterable[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    """Leave out questions that a resolver sent again: they have the number of the first."""
    seen: set[tuple[object, ...]] = set()
    for event in events:
        if "ask" in event:
            question = (event["pid"], event["id"], event["ask"], event["kind"])
            if question in seen:
                continue
            seen.add(question)
        yield event
