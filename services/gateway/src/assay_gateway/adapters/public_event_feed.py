"""Public events: heard once for the whole process, passed on to everybody who listens."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from prometheus_client import Counter, Gauge

from assay_contracts.rpc import Problem, ProblemDetails, ProblemError
from assay_gateway.domain.public_event import PublicEvent
from assay_servicekit.streams import Kept, Stream, StreamUnavailable

MAX_WAITING: Final = 256
"""Events that wait for a slow listener before it is dropped; it may come back and go on."""
MAX_REPLAYS: Final = 8
"""So many replays at once; the others wait. After a restart everybody comes back together."""

LISTENERS = Gauge("assay_gateway_fact_listeners", "Clients that follow public facts.")
DROPPED = Counter("assay_gateway_slow_listeners", "Clients dropped because they read too slowly.")


class PublicEventFeed:
    """Implements `ports.PublicEvents`."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._listeners: set[asyncio.Queue[PublicEvent | None]] = set()
        self._replays = asyncio.Semaphore(MAX_REPLAYS)
        self._listening = asyncio.Event()
        """Set once nothing that is said is missed any more."""

    async def run(self) -> None:
        """Pass on what is said, for ever."""
        async for kept in self._stream.follow(self._listening.set):
            self._pass_on(_event(kept))

    def _pass_on(self, event: PublicEvent) -> None:
        for listener in tuple(self._listeners):
            if listener.qsize() < MAX_WAITING:
                listener.put_nowait(event)
            else:
                self._listeners.discard(listener)
                listener.put_nowait(None)
                DROPPED.inc()

    @asynccontextmanager
    async def listen(self) -> AsyncIterator[Callable[[], AsyncIterator[PublicEvent]]]:
        await self._listening.wait()
        heard: asyncio.Queue[PublicEvent | None] = asyncio.Queue()
        self._listeners.add(heard)
        LISTENERS.inc()

        async def events() -> AsyncIterator[PublicEvent]:
            while (event := await heard.get()) is not None:
                yield event

        try:
            yield events
        finally:
            LISTENERS.dec()
            self._listeners.discard(heard)

    async def since(self, sequence: int) -> AsyncIterator[PublicEvent]:
        try:
            async with self._replays:
                async for kept in self._stream.read(sequence):
                    yield _event(kept)
        except StreamUnavailable as error:
            raise ProblemError(
                Problem(
                    code="SERVICE_UNAVAILABLE",
                    message="The bus did not answer. Try again in a few seconds.",
                    details=ProblemDetails(retry_after_s=5),
                )
            ) from error


def _event(kept: Kept) -> PublicEvent:
    return PublicEvent(sequence=kept.sequence, type=kept.subject, body=kept.data.decode())
