"""Says what the outbox holds: after the commit, in order, again and again until the bus has it."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Protocol

import structlog

from assay_scorer.ports.outbox import UnsaidMessages
from assay_scorer.ports.timing import Clock
from assay_servicekit.large_messages import MessageTooLarge
from assay_servicekit.periodic import Periodic, periodic
from assay_servicekit.telemetry import resumed

log = structlog.get_logger(__name__)

BATCH: Final = 50
POLL: Final = timedelta(seconds=1)
GATHER: Final = timedelta(milliseconds=20)
"""The first word goes out at once; what follows it closer than this goes out together."""


class Publisher(Protocol):
    async def publish(self, subject: str, body: bytes, dedup_key: str) -> int | None:
        """Returns the number in its stream. Raises `nats.errors.Error` or TimeoutError."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxRelay:
    outbox: UnsaidMessages
    bus: Publisher
    clock: Clock

    def worker(self) -> Periodic:
        return periodic("outbox", self.relay_all, every=POLL, min_pause=GATHER)

    async def relay_all(self) -> None:
        """Say everything that is due. Raises as `relay` does."""
        while await self.relay() == BATCH:
            pass

    async def relay(self) -> int:
        """Say what is due, at most one batch, and return how many.

        Messages are locked while they are said, so replicas do not say one twice; a crash after
        the bus took a message and before that is noted says it again under the same key, which the
        stream drops. Raises Unavailable, `nats.errors.Error`, TimeoutError.
        """
        async with self.outbox.lock_due(self.clock(), BATCH) as due:
            for message in due.messages:
                sequence = None
                with resumed(message.traceparent):
                    try:
                        sequence = await self.bus.publish(
                            message.subject, message.body.encode(), message.dedup_key
                        )
                    except MessageTooLarge as error:
                        # It must not keep waiting what comes after it. Work that was never said
                        # goes quiet, and its validation ends as inconclusive.
                        log.error("message_too_large", key=message.dedup_key, reason=str(error))  # noqa: TRY400
                due.published(message, self.clock(), sequence)
        return len(due.messages)
