"""The only name server of a sandbox, for datagrams and for connections."""

from __future__ import annotations

import asyncio
import secrets
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from assay_sandboxes.guest.dns_questions import first_question

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Place = tuple[str, int]
"""Host and port."""

_MOST_UNANSWERED: Final = 512
"""So many unanswered look-ups at once; older ones are forgotten."""
_AT_ONCE: Final = 100
_MOST_CONNECTIONS: Final = 32
_SILENCE_S: Final = 10.0
_ANSWER_S: Final = 3.0
_NO_SUCH_NAME: Final = 3
_NO_ANSWER: Final = 2


class NameServer:
    """Tells every question to `hear_question`; answers "no such name" until it may forward."""

    def __init__(
        self,
        datagrams: socket.socket,
        *,
        servers: Sequence[Place],
        hear_question: Callable[[bytes, int], None],
        hear_answer: Callable[[bytes], None],
    ) -> None:
        """Serve on a bound socket for datagrams; `serve_connections` does for the others.

        Args:
            datagrams: Where the sandbox asks.
            servers: Whom to ask, once it may.
            hear_question: Told of each question, and the port that it comes from.
            hear_answer: Told of each answer that is passed back.
        """
        self._inside = datagrams
        self._places = servers
        self._hear_question = hear_question
        self._hear_answer = hear_answer
        self._loop = asyncio.get_running_loop()
        self._asked: dict[int, tuple[bytes, Place]] = {}
        """By the number a question was passed on with: its own number, and who asked."""
        self._servers: list[socket.socket] = []
        self._forwards = False
        self._connections = 0
        self._loop.add_reader(datagrams, self.serve)

    def start_forwarding(self) -> None:
        """From now on, ask this machine's name servers."""
        self._forwards = True
        for host, port in self._places:
            server = socket.socket(_family(host), socket.SOCK_DGRAM)
            server.setblocking(False)
            try:
                server.connect((host, port))
            except OSError:
                server.close()
                continue
            self._servers.append(server)
            self._loop.add_reader(server, self._answer, server)

    def serve(self) -> None:
        """Answer, or pass on, what has come in."""
        with suppress(OSError):
            for _ in range(_AT_ONCE):
                question, asker = self._inside.recvfrom(4096)
                self._take(question, asker)

    def _take(self, question: bytes, asker: Place) -> None:
        self._hear_question(question, asker[1])
        if not self._forwards:
            if answer := no_such_name(question):
                self._inside.sendto(answer, asker)
            return
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
                self._hear_answer(answer)
                self._inside.sendto(number + answer[2:], asker)

    async def serve_connections(self, listening: socket.socket) -> None:
        """Serve those who ask over a connection, to the end."""
        server = await asyncio.start_server(self._converse, sock=listening)
        await server.serve_forever()

    async def _converse(self, inside: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        self._connections += 1
        try:
            if self._connections <= _MOST_CONNECTIONS:
                await self._answer_all(inside, back)
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            pass  # whoever asked has gone, or says nothing more
        finally:
            self._connections -= 1
            back.close()

    async def _answer_all(self, inside: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        port = back.get_extra_info("peername")[1]
        while True:
            async with asyncio.timeout(_SILENCE_S):
                question = await _read_one(inside)
            self._hear_question(question, port)
            answer = await self._ask_for_connection(question)
            if answer is None:
                return
            _write_one(back, answer)
            async with asyncio.timeout(_SILENCE_S):
                await back.drain()

    async def _ask_for_connection(self, question: bytes) -> bytes | None:
        if not self._forwards:
            return no_such_name(question)
        for ask in (_ask_over_connection, _ask_by_datagram):
            for place in self._places:
                with suppress(OSError, asyncio.IncompleteReadError):
                    async with asyncio.timeout(_ANSWER_S):
                        answer = await ask(question, place)
                    self._hear_answer(answer)
                    return answer
        return _refusal(question, _NO_ANSWER)


def no_such_name(question: bytes) -> bytes | None:
    """The answer that there is no such name; none to what is no question."""
    return _refusal(question, _NO_SUCH_NAME)


def _refusal(question: bytes, code: int) -> bytes | None:
    parsed = first_question(question)
    if parsed is None:
        return None
    flags = bytes([0x81, 0x80 | code])
    return question[:2] + flags + question[4:6] + bytes(6) + question[12 : parsed[2]]


async def _ask_over_connection(question: bytes, place: Place) -> bytes:
    far, out = await asyncio.open_connection(*place)
    try:
        _write_one(out, question)
        return await _read_one(far)
    finally:
        out.close()


async def _ask_by_datagram(question: bytes, place: Place) -> bytes:
    """For name servers that take no connections."""
    loop = asyncio.get_running_loop()
    with socket.socket(_family(place[0]), socket.SOCK_DGRAM) as server:
        server.setblocking(False)
        server.connect(place)
        await loop.sock_sendall(server, question)
        return await loop.sock_recv(server, 65536)


async def _read_one(source: asyncio.StreamReader) -> bytes:
    return await source.readexactly(int.from_bytes(await source.readexactly(2), "big"))


def _write_one(target: asyncio.StreamWriter, message: bytes) -> None:
    target.write(len(message).to_bytes(2, "big") + message)


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
