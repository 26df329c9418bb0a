"""Finds validations that nothing moves any more, and moves them."""

import asyncio
from datetime import UTC, datetime
from uuid import UUID

import structlog
from nats.errors import Error as NatsError
from nats.js.errors import NotFoundError
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from assay_scorer.adapters.environments import STORED, Environments
from assay_scorer.adapters.records import answering
from assay_scorer.adapters.tables import OutboxRow, ValidationRow
from assay_scorer.domain.conductor import DeadlinePassed, WentQuiet
from assay_scorer.domain.validation import Validation
from assay_scorer.domain.work import open_work
from assay_scorer.full_tests import EndAbandoned
from assay_scorer.runtime import KeepVersions
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

    def __init__(
        self,
        engine: AsyncEngine,
        bus: Bus,
        *,
        conduct: Conduct,
        keep_versions: KeepVersions,
        end_abandoned: EndAbandoned,
        every_s: float,
    ) -> None:
        self._engine = engine
        self._bus = bus
        self._conduct = conduct
        self._keep_versions = keep_versions
        self._end_abandoned = end_abandoned
        self._every_s = every_s
        self._suspects: set[Suspect] = set()
        self._environments = Environments()

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
        for validation in await self._open():
            if validation.deadline is not None and validation.deadline < datetime.now(UTC):
                log.warning(
                    "deadline_passed",
                    validation_id=str(validation.validation_id),
                    step=validation.step,
                )
                await self._conduct(validation.validation_id, DeadlinePassed())
            else:
                suspects |= await self._lost(validation)
        for suspect in suspects & self._suspects:
            validation_id, step_id, attempt = suspect
            log.warning("work_lost", step_id=step_id, attempt=attempt)
            await self._conduct(validation_id, WentQuiet(step_id=step_id, attempt=attempt))
        self._suspects = suspects - self._suspects
        await self._end_abandoned()
        await self._conduct.start_queued()
        await self._keep_versions()

    async def _open(self) -> list[Validation]:
        statement = STORED.where(ValidationRow.step.not_in(("queued", "done")))
        async with answering(), self._engine.connect() as connection:
            return [each async for each in self._environments.each(connection, statement)]

    async def _lost(self, validation: Validation) -> set[Suspect]:
        """The open work that the bus took and has no longer."""
        work = {each.dedup_key(): each for each in open_work(validation)}
        asked = select(OutboxRow.dedup_key, OutboxRow.sequence).where(
            OutboxRow.dedup_key.in_(work), OutboxRow.sequence.is_not(None)
        )
        async with answering(), self._engine.connect() as connection:
            rows = (await connection.execute(asked)).all()
        return {
            (validation.validation_id, work[row.dedup_key].step_id, work[row.dedup_key].attempt)
            for row in rows
            if not await self._on_the_bus(row.sequence, row.dedup_key)
        }

    async def _on_the_bus(self, sequence: int | None, dedup_key: str) -> bool:
        try:
            message = await self._bus.jetstream().get_msg("WORK", sequence)
        except NotFoundError:
            return False
        # A store that was wiped counts from one again: the number alone proves nothing.
        return bool((message.headers or {}).get("Nats-Msg-Id") == dedup_key)
