"""Finds validations that nothing moves any more, and moves them."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

import structlog
from nats.errors import Error as NatsError
from nats.js.errors import NotFoundError
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from assay_scorer.adapters.environments import STORED, Environments
from assay_scorer.adapters.records import answering
from assay_scorer.adapters.tables import OutboxRow, ValidationRow
from assay_scorer.domain.inputs import DeadlinePassed, GivenUp, WentQuiet
from assay_scorer.domain.work import open_work
from assay_scorer.full_tests import EndAbandoned
from assay_scorer.runtime import KeepVersions
from assay_scorer.service import Conduct
from assay_servicekit.bus import Bus, Unavailable
from assay_servicekit.topology import apply_topology

log = structlog.get_logger(__name__)

Suspect = tuple[UUID, str, int]
_PASSING: Final = (Unavailable, NatsError, TimeoutError, OSError)
"""What is over some time: the pass is postponed until then."""


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
            except _PASSING as error:
                log.warning("reconciler_waits", error=f"{type(error).__name__}: {error}")

    async def reconcile(self) -> None:
        """One pass. Raises Unavailable, `nats.errors.Error`, TimeoutError."""
        await apply_topology(self._bus.jetstream())
        suspects: set[Suspect] = set()
        for validation_id, deadline in await self._open():
            if deadline is not None and deadline < datetime.now(UTC):
                await self._end(validation_id)
            else:
                with _on_its_own(validation_id=str(validation_id)):
                    suspects |= await self._lost(validation_id)
        for suspect in suspects & self._suspects:
            validation_id, step_id, attempt = suspect
            log.warning("work_lost", step_id=step_id, attempt=attempt)
            with _on_its_own(validation_id=str(validation_id)):
                await self._conduct(validation_id, WentQuiet(step_id=step_id, attempt=attempt))
        self._suspects = suspects - self._suspects
        with _on_its_own(what="abandoned full tests"):
            await self._end_abandoned()
        with _on_its_own(what="admission"):
            await self._conduct.start_queued()
        await self._keep_versions()

    async def _open(self) -> Sequence[tuple[UUID, datetime | None]]:
        """The validations under way, and until when each may be."""
        statement = select(ValidationRow.id, ValidationRow.deadline).where(
            ValidationRow.step.not_in(("queued", "done"))
        )
        async with answering(), self._engine.connect() as connection:
            return [(row.id, row.deadline) for row in await connection.execute(statement)]

    async def _end(self, validation_id: UUID) -> None:
        log.warning("deadline_passed", validation_id=str(validation_id))
        # The second ends only what the first cannot; else that would be tried at every pass.
        for fact in (DeadlinePassed(), GivenUp()):
            with _on_its_own(validation_id=str(validation_id)):
                await self._conduct(validation_id, fact)

    async def _lost(self, validation_id: UUID) -> set[Suspect]:
        """The open work that the bus took and has no longer."""
        stored = STORED.where(ValidationRow.id == validation_id)
        async with answering(), self._engine.connect() as connection:
            validation = await self._environments.one(connection, stored)
        if validation is None:
            return set()
        work = {each.dedup_key(): each for each in open_work(validation)}
        asked = select(OutboxRow.dedup_key, OutboxRow.sequence).where(
            OutboxRow.dedup_key.in_(work), OutboxRow.sequence.is_not(None)
        )
        async with answering(), self._engine.connect() as connection:
            rows = (await connection.execute(asked)).all()
        return {
            (validation_id, work[row.dedup_key].step_id, work[row.dedup_key].attempt)
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


@contextmanager
def _on_its_own(**about: str) -> Iterator[None]:
    """Within, whatever goes wrong is logged, but for what passes by itself."""
    try:
        yield
    except _PASSING:
        raise
    except Exception:
        # Whatever it is, it is about this one, and would keep all others waiting behind it.
        log.exception("cannot_be_taken_further", **about)
