"""Clears traces, reports, environments and said words that nothing needs any more."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from assay_contracts.topology import BucketName
from assay_scorer.domain.retention import (
    HALF_WRITTEN_AFTER,
    SAID_FOR,
    Kind,
    OverdueObjects,
    belongs_to,
    wanted,
)
from assay_scorer.ports.housekeeping import Buckets, RetentionRecords, StoredObject
from assay_scorer.ports.timing import Clock
from assay_servicekit.periodic import Periodic, periodic

EVERY: Final = timedelta(hours=1)
KINDS: Final[tuple[Kind, ...]] = ("traces", "reports")


class Retention:
    """What is live, under way, or cited by a report that is kept stays: see `domain.retention`."""

    def __init__(
        self, records: RetentionRecords, buckets: Buckets, clock: Clock, *, keep: timedelta
    ) -> None:
        self._records = records
        self._buckets = buckets
        self._clock = clock
        self._keep = keep
        self._half_written: dict[BucketName, OverdueObjects] = {
            kind: OverdueObjects(HALF_WRITTEN_AFTER) for kind in KINDS
        }

    def worker(self) -> Periodic:
        return periodic("retention", self._sweep_in_time, every=EVERY)

    async def _sweep_in_time(self) -> None:
        async with asyncio.timeout(EVERY.total_seconds()):
            await self.sweep(self._clock())

    async def sweep(self, now: datetime) -> int:
        """One pass; returns how many traces and reports were cleared.

        Raises Unavailable, `nats.errors.Error`, TimeoutError.
        """
        await self._records.remove_unused(
            environments_before=now - HALF_WRITTEN_AFTER, said_before=now - SAID_FOR
        )
        return sum([await self._sweep(kind, now) for kind in KINDS])

    async def _sweep(self, kind: Kind, now: datetime) -> int:
        cleared = 0
        # Asked for before the names: whatever is whole by then has its name by the time.
        chunks = await self._buckets.chunk_subjects(kind)
        async for batch in self._buckets.batches(kind):
            unwanted = await self._unwanted(kind, batch, now)
            for each in unwanted:
                await self._buckets.clear(kind, each.name_subject)
                await self._buckets.clear(kind, each.chunk_subject)
            cleared += len(unwanted)
            chunks -= {each.chunk_subject for each in batch}
        # What a writer that died has left, once it has looked so for long enough.
        for subject in self._half_written[kind].overdue(chunks, now):
            await self._buckets.clear(kind, subject)
        return cleared

    async def _unwanted(
        self, kind: Kind, batch: Sequence[StoredObject], now: datetime
    ) -> list[StoredObject]:
        owners = {each.name: belongs_to(each.name) for each in batch}
        recorded = await self._records.owning_validations(
            {owner for owner in owners.values() if owner is not None}
        )
        return [
            each
            for each in batch
            if (owner := owners[each.name]) is not None
            and (each.deleted or not wanted(kind, each.name, recorded.get(owner), now, self._keep))
        ]
