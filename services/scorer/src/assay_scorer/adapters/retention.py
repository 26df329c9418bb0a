"""Clears traces, reports, environments and said words that nothing needs any more."""

import asyncio
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

import structlog
from nats.errors import Error as NatsError
from nats.js.api import ObjectInfo
from sqlalchemy import delete, text
from sqlalchemy.ext.asyncio import AsyncEngine

from assay_scorer.adapters.environments import remove_unused
from assay_scorer.adapters.records import answering
from assay_scorer.adapters.tables import OutboxRow
from assay_scorer.domain.retention import Kind, Recorded, belongs_to, wanted
from assay_servicekit.bus import Bus, Unavailable

BATCH: Final = 500
HALF_WRITTEN_AFTER: Final = timedelta(hours=1)
"""Nobody writes one trace or one report for that long."""
SAID_FOR: Final = timedelta(days=30)
"""How long what was said can be looked up in the outbox: as long as facts stay on the bus."""

# `strict`, because otherwise each key would be found twice: in its array and in itself.
_RECORDED: Final = text("""
select v.id as validation_id, v.completed_at as ended_at,
  jsonb_path_query_array(v.document, 'strict $.**.trace_key') as cited,
  exists (select from runtime_versions r where r.validation_id = v.id) or not exists (
    select from validations newer
    where newer.skill_id = v.skill_id and newer.revision = v.revision
      and newer.queued_at > v.queued_at and newer.step = 'done'
      and (newer.kind = 'full_test') = (v.kind = 'full_test')) as live
from validations v where v.id = any(:ids)
""")

log = structlog.get_logger(__name__)


class Retention:
    """What is live, under way, or cited by a report that is kept stays: see `domain.retention`."""

    def __init__(
        self, engine: AsyncEngine, bus: Bus, *, keep: timedelta, every_s: float = 3600
    ) -> None:
        self._engine = engine
        self._bus = bus
        self._keep = keep
        self._every_s = every_s
        self._asked = asyncio.Event()
        self._half_written: dict[str, datetime] = {}

    def wake(self) -> None:
        """There is something to clear now."""
        self._asked.set()

    async def run(self) -> None:
        """Clear until cancelled."""
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._asked.wait(), self._every_s)
            self._asked.clear()
            try:
                async with asyncio.timeout(self._every_s):
                    await self.sweep(datetime.now(UTC))
            except (Unavailable, NatsError, TimeoutError, OSError) as error:
                log.warning("retention_waits", error=f"{type(error).__name__}: {error}")

    async def sweep(self, now: datetime) -> int:
        """One pass; returns how many traces and reports were cleared.

        Raises Unavailable, `nats.errors.Error`, TimeoutError.
        """
        async with answering(), self._engine.begin() as connection:
            await remove_unused(connection, now - HALF_WRITTEN_AFTER)
            await connection.execute(
                delete(OutboxRow).where(OutboxRow.published_at < now - SAID_FOR)
            )
        half_written: set[str] = set()
        cleared = 0
        for kind in ("traces", "reports"):
            # Asked for before the names: whatever is whole by then has its name by the time.
            chunks = await self._chunks(kind)
            async for batch in self._batches(kind):
                unwanted = await self._unwanted(kind, batch, now)
                for info in unwanted:
                    await self._clear(kind, f"M.{urlsafe_b64encode(info.name.encode()).decode()}")
                    await self._clear(kind, f"C.{info.nuid}")
                cleared += len(unwanted)
                chunks -= {_chunk(kind, info) for info in batch}
            half_written |= chunks
        await self._clear_half_written(half_written, now)
        return cleared

    async def _unwanted(
        self, kind: Kind, batch: Sequence[ObjectInfo], now: datetime
    ) -> list[ObjectInfo]:
        ids = {info.name: belongs_to(info.name) for info in batch}
        recorded = await self._recorded({each for each in ids.values() if each is not None})
        return [
            info
            for info in batch
            if (of := ids[info.name]) is not None
            and (info.deleted or not wanted(kind, info.name, recorded.get(of), now, self._keep))
        ]

    async def _recorded(self, ids: Collection[UUID]) -> dict[UUID, Recorded]:
        async with answering(), self._engine.connect() as connection:
            rows = await connection.execute(_RECORDED, {"ids": list(ids)})
            found = [Recorded.model_validate(row, from_attributes=True) for row in rows]
        return {each.validation_id: each for each in found}

    async def _batches(self, kind: Kind) -> AsyncIterator[list[ObjectInfo]]:
        """Everything that has a name in the bucket, a batch in memory at a time."""
        watcher = await (await self._bus.jetstream().object_store(kind)).watch()
        batch: list[ObjectInfo] = []
        try:
            async for info in watcher:
                if info is None:  # The end of what is there.
                    break
                batch.append(info)
                if len(batch) == BATCH:
                    yield batch
                    batch = []
        finally:
            await watcher.stop()  # type: ignore[no-untyped-call]
        yield batch

    async def _chunks(self, kind: Kind) -> set[str]:
        filtered = f"$O.{kind}.C.>"
        info = await self._bus.jetstream().stream_info(f"OBJ_{kind}", subjects_filter=filtered)
        return set(info.state.subjects or {})

    async def _clear_half_written(self, subjects: set[str], now: datetime) -> None:
        """Clear what a writer that died has left, once it has looked so for long enough."""
        self._half_written = {each: self._half_written.get(each, now) for each in subjects}
        for subject, seen in self._half_written.items():
            if now - seen >= HALF_WRITTEN_AFTER:
                _, bucket, rest = subject.split(".", 2)
                await self._clear(bucket, rest)

    async def _clear(self, bucket: str, rest: str) -> None:
        await self._bus.jetstream().purge_stream(f"OBJ_{bucket}", subject=f"$O.{bucket}.{rest}")


def _chunk(kind: Kind, info: ObjectInfo) -> str:
    return f"$O.{kind}.C.{info.nuid}"
