"""Clients that cost next to nothing, so that a server is what is measured and not they."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from urllib.parse import urlsplit

END_OF_HEAD = b"\r\n\r\n"
LENGTH = b"content-length:"


@dataclass(slots=True)
class Load:
    """What was answered, and after how long, each in seconds."""

    took_s: float = 0.0
    times_s: list[float] = field(default_factory=list)

    @property
    def per_second(self) -> float:
        return len(self.times_s) / self.took_s

    def add(self, other: "Load") -> None:
        self.took_s += other.took_s
        self.times_s += other.times_s


class WrongAnswer(AssertionError):
    """A server under load answered something other than 200."""


class _Client(asyncio.Protocol):
    """Asks over one connection, the next thing as soon as the last is answered."""

    def __init__(self, requests: Iterator[bytes], until: float, load: Load) -> None:
        self._requests = requests
        self._until = until
        self._load = load
        self._read = bytearray()
        self._expected: int | None = None
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._ask()

    def data_received(self, data: bytes) -> None:
        self._read += data
        if self._expected is None:
            end = self._read.find(END_OF_HEAD)
            if end < 0:
                return
            head = bytes(self._read[:end]).lower()
            if not head.startswith(b"http/1.1 200 "):
                self._end(WrongAnswer(bytes(self._read).decode()))
                return
            length = head.partition(LENGTH)[2].partition(b"\r\n")[0]
            self._expected = end + len(END_OF_HEAD) + int(length)
        if len(self._read) < self._expected:
            return
        self._load.times_s.append(time.perf_counter() - self._asked_at)
        self._ask()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(exc or WrongAnswer("the server closed the connection"))

    def _ask(self) -> None:
        self._read.clear()
        self._expected = None
        self._asked_at = time.perf_counter()
        if self._asked_at >= self._until:
            self._end(None)
        else:
            self._transport.write(next(self._requests))

    def _end(self, error: Exception | None) -> None:
        if not self.ended.done():
            if error is None:
                self.ended.set_result(None)
            else:
                self.ended.set_exception(error)
        self._transport.close()


async def load(url: str, paths: Sequence[str], *, clients: int, seconds: float, token: str) -> Load:
    """Ask for `paths` in turn, `clients` at once, for so long. Raises WrongAnswer."""
    parts = urlsplit(url)
    requests = [
        f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\n"
        f"Authorization: Bearer {token}\r\nAccept: */*\r\n\r\n".encode()
        for path in paths
    ]
    loop = asyncio.get_running_loop()
    total = Load()
    began = time.perf_counter()
    protocols: list[_Client] = []
    for number in range(clients):
        # Each begins at another path, so that they do not all ask for the same at the same time.
        mine = islice(cycle(requests), number % len(requests), None)
        _, protocol = await loop.create_connection(
            lambda mine=mine: _Client(mine, began + seconds, total),  # type: ignore[misc]
            parts.hostname or "",
            parts.port or 0,
        )
        protocols.append(protocol)
    await asyncio.gather(*(protocol.ended for protocol in protocols))
    total.took_s = time.perf_counter() - began
    return total
