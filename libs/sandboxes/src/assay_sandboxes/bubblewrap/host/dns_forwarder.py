"""Looking up names for a sandbox with an open network."""

import asyncio
import secrets
import socket
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

Place = tuple[str, int]
"""Host and port."""

_MOST_UNANSWERED: Final = 512
"""So many unanswered look-ups at once; older ones are forgotten."""


class DnsForwarder:
    """Passes questions on to the machine's name servers, and the first answer to each back."""

    def __init__(self, inside: socket.socket, servers: Sequence[Place]) -> None:
        """Serve on a bound socket, which is closed by `close`."""
        self._inside = inside
        self._loop = asyncio.get_running_loop()
        self._asked: dict[int, tuple[bytes, Place]] = {}
        """By the number a question was passed on with: its own number, and who asked."""
        self._servers: list[socket.socket] = []
        for host, port in servers:
            server = socket.socket(
                socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM
            )
            server.setblocking(False)
            try:
                server.connect((host, port))
            except OSError:
                server.close()
                continue
            self._servers.append(server)
            self._loop.add_reader(server, self._answer, server)
        self._loop.add_reader(inside, self._ask)

    def close(self) -> None:
        for each in (self._inside, *self._servers):
            self._loop.remove_reader(each)
            each.close()

    def _ask(self) -> None:
        with suppress(OSError):
            question, asker = self._inside.recvfrom(4096)
            if len(self._asked) >= _MOST_UNANSWERED:
                del self._asked[next(iter(self._asked))]
            number = secrets.randbelow(1 << 16)
            self._asked[number] = question[:2], asker
            for server in self._servers:
                with suppress(OSError):
                    server.send(number.to_bytes(2, "big") + question[2:])

    def _answer(self, server: socket.socket) -> None:
        with suppress(OSError):
            answer = server.recv(65536)
            found = self._asked.pop(int.from_bytes(answer[:2], "big"), None)
            if found is not None:
                number, asker = found
                self._inside.sendto(number + answer[2:], asker)
