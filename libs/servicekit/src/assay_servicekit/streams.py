"""Reads what a stream keeps by sequence number, and follows it, without a consumer that stays."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, ConsumerInfo, DeliverPolicy

from assay_contracts.topology import StreamName

HEARTBEAT_S: Final = 2.0
SILENT_AFTER_S: Final = 3 * HEARTBEAT_S
"""A stream that does not even show its pulse for so long delivers to us no more."""
TRY_AGAIN_S: Final = 1.0

log = structlog.get_logger(__name__)


class StreamUnavailable(OSError):
    """The stream did not answer in time or does not exist."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A message that a stream keeps."""

    sequence: int
    subject: str
    data: bytes


class Stream:
    """What one stream keeps under some subjects, oldest first."""

    def __init__(
        self,
        connection: Callable[[], Client],
        jetstream: Callable[[], JetStreamContext],
        name: StreamName,
        subjects: Sequence[str],
    ) -> None:
        self._connection = connection
        self._jetstream = jetstream
        self._name = name
        self._subjects = list(subjects)

    async def read(self, after: int) -> AsyncGenerator[Kept]:
        """Everything there is now after this sequence number. Raises StreamUnavailable.

        A number that the stream has not reached yet is of one that is gone: then simply everything.
        """
        try:
            state = (await self._jetstream().stream_info(self._name)).state
            after = after if after <= state.last_seq else 0
            async with self._delivered(after) as (info, messages):
                for _ in range(info.num_pending or 0):
                    async with asyncio.timeout(SILENT_AFTER_S):
                        message = await messages.get()
                    yield _kept(message)
        except (NatsError, TimeoutError) as error:
            raise StreamUnavailable(f"{self._name}: {type(error).__name__}") from error

    async def follow(self, started: Callable[[], None]) -> AsyncGenerator[Kept]:
        """Everything from now on, for ever, each once and in order, whatever the bus goes through.

        Now is when `started` is called, for the first time: it may have to wait for the stream.
        A stream that was made anew counts from one again, and is followed from there.
        """
        last: int | None = None
        while True:
            try:
                async with self._delivered(last, HEARTBEAT_S) as (info, messages):
                    expected = 1
                    if last is None:
                        last = (info.delivered.stream_seq or 0) if info.delivered else 0
                    started()
                    while True:
                        async with asyncio.timeout(SILENT_AFTER_S):
                            message = await messages.get()
                        if message.headers and not message.data:
                            continue
                        if message.metadata.sequence.consumer != expected:
                            log.warning("stream_gap", stream=self._name, expected=expected)
                            break
                        expected += 1
                        last = message.metadata.sequence.stream
                        yield _kept(message)
            except (NatsError, TimeoutError) as error:
                log.warning("stream_lost", stream=self._name, error=type(error).__name__)
                await asyncio.sleep(TRY_AGAIN_S)
                last = await self._where_to_go_on(last)

    async def _where_to_go_on(self, last: int | None) -> int | None:
        if last is None:
            return None
        with suppress(NatsError, TimeoutError):
            state = (await self._jetstream().stream_info(self._name)).state
            return 0 if state.last_seq < last else last
        return last

    @asynccontextmanager
    async def _delivered(
        self, after: int | None, heartbeat_s: float | None = None
    ) -> AsyncIterator[tuple[ConsumerInfo, asyncio.Queue[Msg]]]:
        """A consumer that lasts as long as the body, and what it delivers."""
        messages: asyncio.Queue[Msg] = asyncio.Queue()
        inbox = self._connection().new_inbox()
        subscription = await self._connection().subscribe(inbox, cb=messages.put)
        try:
            start = (
                {"deliver_policy": DeliverPolicy.NEW}
                if after is None
                else {
                    "deliver_policy": DeliverPolicy.BY_START_SEQUENCE,
                    "opt_start_seq": after + 1,
                }
            )
            info = await self._jetstream().add_consumer(
                self._name,
                ConsumerConfig(
                    deliver_subject=inbox,
                    filter_subjects=self._subjects,
                    ack_policy=AckPolicy.NONE,
                    idle_heartbeat=heartbeat_s,
                    mem_storage=True,
                    inactive_threshold=SILENT_AFTER_S,
                    **start,
                ),
            )
            yield info, messages
        finally:
            # A consumer whose inbox nobody reads is removed by the server.
            with suppress(NatsError):
                await subscription.unsubscribe()


def _kept(message: Msg) -> Kept:
    return Kept(message.metadata.sequence.stream, message.subject, message.data)
