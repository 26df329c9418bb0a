"""Watching a command by `strace`, where the kernel gives no listener.

What it writes is made into the same events that a listener writes down.
"""

from __future__ import annotations

import re

from assay_sandboxes.guest.dns_questions import parse_query
from assay_sandboxes.guest.socket_addresses import DNS_PORT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_CALL = re.compile(
    r"^(?P<pid>\d+) +(?P<at>\d+\.\d+) (?P<call>connect|sendto|sendmsg|sendmmsg)\((?P<fd>\d+)"
    r"(?P<rest>.*)$"
)
_PLACE = re.compile(
    r"sa_family=AF_INET6?, sin6?_port=htons\((\d+)\).*?"
    r"(?:inet_addr\(\"([^\"]+)\"\)|inet_pton\(AF_INET6, \"([^\"]+)\")"
)
_TEXT = re.compile(r"\"((?:\\x[0-9a-f]{2})+)\"")


def under_strace(argv: list[str], log: str) -> list[str]:
    """The command, under `strace`, which writes to `log` and does not hold the command up."""
    watched = "trace=connect,sendto,sendmsg,sendmmsg"
    options = ("-D", "-f", "-qq", "-ttt", "-xx", "-s", "512", "-e", watched, "-o", log)
    return ["/usr/bin/strace", *options, *argv]


def events(lines: Iterator[str]) -> Iterator[dict[str, object]]:
    """What a listener would have written down."""
    for line in lines:
        call = _CALL.match(line)
        if call is None:
            continue
        event: dict[str, object] = {
            "t": float(call["at"]),
            "pid": int(call["pid"]),
            "fd": int(call["fd"]),
        }
        place = _PLACE.search(call["rest"])
        port = int(place[1]) if place else DNS_PORT
        questions = []
        if call["call"] != "connect" and port == DNS_PORT:
            packets = map(_bytes, _TEXT.findall(call["rest"]))
            questions = [found for found in map(parse_query, packets) if found]
        for name, kind, number in questions:
            yield {**event, "ask": name, "kind": kind, "id": number}
        if place and not questions:
            host = _bytes(place[2] or place[3]).decode()
            yield {**event, "to": f"{host}:{place[1]}" if place[2] else f"[{host}]:{place[1]}"}


def _bytes(text: str) -> bytes:
    """What stands in quotes; `strace` is told to write every byte by its number."""
    return bytes.fromhex(text.replace("\\x", ""))
