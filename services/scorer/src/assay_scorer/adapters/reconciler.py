"""Finds validations that nothing moves any more, and moves them."""

import asyncio
from datetime import UTC, datetime
from uuid import UUID

import structlog
from nats.errors import Error as NatsError
from nats.js.errors import NotFoundError
from sqlalchemy import Row, select
from sqlalchemy.ext.asyncio import AsyncEngine

from assay_scorer.adapters.records import answering
from assay_scorer.adapters.tables import OutboxRow, ValidationRow
from assay_scorer.domain.conductor import DeadlinePassed, WentQuiet
from assay_scorer.service import Conduct
from assay_servicekit.bus import Bus, Unavailable
from assay_servicekit.topology import apply_topology

log = structlog.get_logger(__name__)

Suspect = tuple[UUID, str, int]


class Reconciler:
    """Every few seconds: restores the topology, ends what is out of time, re-issues lost work.

    Work is lost when its message is gone from the bus and no result came: a worker says its
    result before it acknowledges, so this happens only if the bus lost something. It must look
    lost twice in a row, to give a result on its way the time to be taken in.
    """

    def __init__(self, engine: AsyncEngine, bus: Bus, conduct: Conduct, every_s: float) -> None:
        self._engine = engine
        self._bus = bus
        self._conduct = conduct
        self._every_s = every_s
        self._suspects: set[Suspect] = set()

    async def run(self) -> None:
        """Reconcile until cancelled."""
        while True:
            await asyncio.sleep(self._every_s)
            try:
                await self.reconcile()
            except (Unavailable, NatsError, TimeoutError, OSError) as error:
                log.warning("reconciler_waits", error=f"{type(error).__name__}: {error}")

    async def reconcile(self) -> None:
        """One pass. Raises Unavailable, `nats.errors.Error`, TimeoutError."""
        await apply_topology(self._bus.jetstream())
        suspects: set[Suspect] = set()
        for row in await self._open():
            if row.deadline is not None and row.deadline < datetime.now(UTC):
                log.warning("deadline_passed", validation_id=str(row.id), step=row.step)
                await self._conduct(row.id, DeadlinePassed())
            elif row.sequence is not None and not await self._on_the_bus(row):
                suspect = (row.id, f"{row.id}.{row.step}", row.attempt)
                if suspect in self._suspects:
                    log.warning("work_lost", validation_id=str(row.id), step=row.step)
                    await self._conduct(row.id, WentQuiet(step_id=suspect[1], attempt=row.attempt))
                else:
                    suspects.add(suspect)
        self._suspects = suspects
        await self._conduct.start_queued()

    async def _open(self) -> list[Row[tuple[object, ...]]]:
        statement = (
            select(
                ValidationRow.id,
                ValidationRow.step,
                ValidationRow.deadline,
                ValidationRow.document["attempt"].as_integer().label("attempt"),
                OutboxRow.sequence,
                OutboxRow.dedup_key,
            )
            .outerjoin(OutboxRow, OutboxRow.dedup_key == ValidationRow.work_key)
            .where(ValidationRow.step.not_in(("queued", "done")))
        )
        async with answering(), self._engine.connect() as connection:
            return list((await connection.execute(statement)).all())

    async def _on_the_bus(self, row: Row[tuple[object, ...]]) -> bool:
        try:
            message = await self._bus.jetstream().get_msg("WORK", row.sequence)
        except NotFoundError:
            return False
        # A store that was wiped counts from one again: the number alone proves nothing.
        return bool((message.headers or {}).get("Nats-Msg-Id") == row.dedup_key)
