"""Reads what a stream keeps by sequence number, and follows it, without a consumer."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from typing import Final

import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.js import JetStreamContext

from assay_contracts.topology import StreamName
from assay_servicekit.kept_messages import Kept, KeptMessages

LOOK_EVERY_S: Final = 2.0
"""What is said live wakes who follows; a word that was missed is made up for by then."""
TRY_AGAIN_S: Final = 1.0

__all__ = ("Kept", "Stream", "StreamUnavailable")

log = structlog.get_logger(__name__)


class StreamUnavailable(OSError):
    """The stream did not answer in time or does not exist."""


class Stream:
    """What one stream keeps, oldest first."""

    def __init__(
        self,
        connection: Callable[[], Client],
        jetstream: Callable[[], JetStreamContext],
        name: StreamName,
        subjects: Sequence[str],
    ) -> None:
        """`subjects`: where it is said live that there is something new."""
        self._connection = connection
        self._jetstream = jetstream
        self._name = name
        self._subjects = list(subjects)
        self._messages = KeptMessages(connection, name)

    async def read(self, after: int) -> AsyncGenerator[Kept]:
        """Everything there is now after this sequence number. Raises StreamUnavailable.

        A number that the stream has not reached yet is of one that is gone: then simply everything.
        """
        try:
            _, last = await self._state()
            async with aclosing(self._messages.after(after if after <= last else 0)) as messages:
                async for message in messages:
                    yield message
        except (NatsError, TimeoutError) as error:
            raise StreamUnavailable(f"{self._name}: {type(error).__name__}") from error

    async def follow(self, started: Callable[[], None]) -> AsyncGenerator[Kept]:
        """Everything from now on, for ever, each once and in order, whatever the bus goes through.

        Now is when `started` is called: it may have to wait for the stream.
        A stream that was made anew counts from one again, and is followed from there.
        """
        news = asyncio.Event()

        async def heard(_: Msg) -> None:
            news.set()

        subscriptions = [
            await self._connection().subscribe(subject, cb=heard) for subject in self._subjects
        ]
        stream: str | None = None
        last = 0
        try:
            while True:
                try:
                    this, newest = await self._state()
                    if stream is None:
                        last = newest
                        started()
                    elif this != stream or newest < last:
                        last = 0
                    stream = this
                    news.clear()
                    async with aclosing(self._messages.after(last)) as messages:
                        async for message in messages:
                            last = message.sequence
                            yield message
                    with suppress(TimeoutError):
                        async with asyncio.timeout(LOOK_EVERY_S):
                            await news.wait()
                except (NatsError, TimeoutError) as error:
                    log.warning("stream_lost", stream=self._name, error=type(error).__name__)
                    await asyncio.sleep(TRY_AGAIN_S)
        finally:
            with suppress(NatsError):
                for subscription in subscriptions:
                    await subscription.unsubscribe()

    async def _state(self) -> tuple[str, int]:
        """Which stream it is, if it was ever made anew, and its newest sequence number."""
        info = await self._jetstream().stream_info(self._name)
        return str(info.created), info.state.last_seq
