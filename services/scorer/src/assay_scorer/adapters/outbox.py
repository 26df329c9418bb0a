"""Says what the outbox holds: after the commit, in order, again and again until the bus has it."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime

import structlog
from nats.errors import Error as NatsError
from sqlalchemy import bindparam, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from assay_contracts.base import Message
from assay_scorer.adapters.records import answering
from assay_scorer.adapters.tables import Base, OutboxRow
from assay_servicekit.bus import Bus, Unavailable
from assay_servicekit.telemetry import resumed

BATCH = 50
POLL_S = 1.0
GATHER_S = 0.02
"""The first word goes out at once; what follows it closer than this goes out together."""
_DUE = (
    select(OutboxRow.id, OutboxRow.subject, OutboxRow.body, OutboxRow.dedup_key)
    .add_columns(OutboxRow.traceparent)
    .where(OutboxRow.published_at.is_(None), OutboxRow.due_at <= bindparam("now"))
    .order_by(OutboxRow.due_at, OutboxRow.id)
    .limit(BATCH)
    .with_for_update(skip_locked=True)
)
_SAID = (
    update(Base.metadata.tables["outbox"])
    .where(OutboxRow.id == bindparam("row"))
    .values(published_at=bindparam("at"), sequence=bindparam("number"))
)

log = structlog.get_logger(__name__)


class Outbox:
    """Implements `ports.Announcer` and relays the outbox table to the bus."""

    def __init__(self, engine: AsyncEngine, bus: Bus) -> None:
        self._engine = engine
        self._bus = bus
        self._news = asyncio.Event()

    def wake(self) -> None:
        self._news.set()

    async def announce(self, message: Message) -> None:
        # Live words may be missed; the records have it all.
        with suppress(NatsError, TimeoutError, OSError):
            await self._bus.say(message)

    async def run(self) -> None:
        """Relay until cancelled."""
        while True:
            self._news.clear()
            try:
                sent = await self.relay()
            except (Unavailable, NatsError, TimeoutError, OSError) as error:
                log.warning("outbox_waits", error=f"{type(error).__name__}: {error}")
                sent = 0
            if sent < BATCH:
                await asyncio.sleep(GATHER_S)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), POLL_S)

    async def relay(self) -> int:
        """Say what is due, at most one batch, and return how many.

        Rows are held while they are said, so replicas do not say one twice; a crash after the bus
        took a message and before that is noted says it again under the same key, which the stream
        drops. Raises Unavailable, `nats.errors.Error`, TimeoutError.
        """
        async with answering(), self._engine.begin() as connection:
            rows = (await connection.execute(_DUE, {"now": datetime.now(UTC)})).all()
            said: list[dict[str, object]] = []
            for row in rows:
                with resumed(row.traceparent):
                    sequence = await self._bus.publish(
                        row.subject, row.body.encode(), row.dedup_key
                    )
                said.append({"row": row.id, "at": datetime.now(UTC), "number": sequence})
            if said:
                await connection.execute(_SAID, said)
        return len(rows)
