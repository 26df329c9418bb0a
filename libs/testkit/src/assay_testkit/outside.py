"""An outside for sandboxes with an open network: servers of the test's own, on this machine."""

import ipaddress
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from assay_sandboxes.bubblewrap.host.outside import Outside
from assay_sandboxes.bubblewrap.warden.orders import NO_POLICY, PolicyOrder

FOUR: Final = "198.51.100.7"
SIX: Final = "2001:db8::7"
PRIVATE: Final = "10.1.2.3"
"""Where a server answers that says what it is told, as at those two."""
SHUT: Final = "198.51.100.8"
"""Where nobody listens."""
NAME: Final = "named.example"
"""Leads to `FOUR`."""
REBOUND: Final = "rebound.example"
"""Leads to `PRIVATE`."""


def policy_order(
    *,
    names: tuple[str, ...] | list[str] = (),
    ranges: tuple[str, ...] | list[str] = (),
    indexes: tuple[tuple[str, int], ...] | list[tuple[str, int]] = (),
    only_listed: bool = False,
) -> PolicyOrder:
    return {
        "names": list(names),
        "ranges": list(ranges),
        "indexes": list(indexes),
        "only_listed": only_listed,
    }


def _echo(connection: socket.socket) -> None:
    with connection:
        while chunk := connection.recv(65536):
            connection.sendall(chunk)


@contextmanager
def echoing() -> Iterator[int]:
    """A server that says what it is told; its port."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as server:

        def serve() -> None:
            try:
                while True:
                    connection, _ = server.accept()
                    threading.Thread(target=_echo, args=(connection,), daemon=True).start()
            except OSError:
                return

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def answer_to(question: bytes) -> bytes:
    """An answer with the address of `NAME`, or of `REBOUND`; others do not exist."""
    end = question.index(b"\0", 12) + 5
    asked = question[12:end]
    address = {b"\x05named": FOUR, b"\x07reboun": PRIVATE}.get(asked[: 6 if asked[0] == 5 else 7])
    known = address is not None and asked.endswith(b"\x07example\0\0\1\0\1")
    record = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + ipaddress.IPv4Address(address or 0).packed
    flags = b"\x81\x80" if address else b"\x81\x83"
    counts = b"\0\1" + (b"\0\1" if known else b"\0\0") + bytes(4)
    return question[:2] + flags + counts + asked + (record if known else b"")


@contextmanager
def naming() -> Iterator[int]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))

        def serve() -> None:
            while True:
                question, asker = server.recvfrom(4096)
                if not question:
                    return
                server.sendto(answer_to(question), asker)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.sendto(b"", server.getsockname())
        thread.join()


@contextmanager
def an_outside(policy: PolicyOrder = NO_POLICY) -> Iterator[Outside]:
    """Addresses that nobody has lead to servers of the test's own."""
    with echoing() as port, naming() as names, socket.socket() as shut:
        shut.bind(("127.0.0.1", 0))
        here = dict.fromkeys((FOUR, SIX, PRIVATE), ("127.0.0.1", port))
        yield Outside(
            policy=policy,
            name_servers=(("127.0.0.1", names),),
            detours=here | {SHUT: ("127.0.0.1", shut.getsockname()[1])},
        )
