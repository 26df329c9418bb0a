"""Clears the bucket of bundles of what nothing in the records refers to."""

from datetime import datetime, timedelta
from typing import Final

import structlog

from assay_scorer.domain.retention import OverdueObjects
from assay_scorer.ports.housekeeping import Buckets, BundleRecords
from assay_scorer.ports.timing import Clock
from assay_servicekit.periodic import Periodic, periodic

EVERY: Final = timedelta(minutes=10)
ORPHANED_AFTER: Final = timedelta(hours=1)

log = structlog.get_logger(__name__)


class BundleSweeper:
    """Removes bundles whose uploader died, or gave up waiting, before they were recorded.

    A bundle is written before it is recorded, so a new one looks unwanted for a moment: only what
    has looked so for `after` goes. What counts is when it was seen first, not its own clock.
    """

    def __init__(
        self,
        records: BundleRecords,
        buckets: Buckets,
        clock: Clock,
        *,
        after: timedelta = ORPHANED_AFTER,
    ) -> None:
        self._records = records
        self._buckets = buckets
        self._clock = clock
        self._orphans = OverdueObjects(after)

    def worker(self) -> Periodic:
        return periodic("sweeper", lambda: self.sweep(self._clock()), every=EVERY)

    async def sweep(self, now: datetime) -> int:
        """One pass; returns how many subjects were cleared.

        Raises Unavailable, `nats.errors.Error`, TimeoutError.
        """
        due = self._orphans.overdue(await self._unwanted(), now)
        for subject in due:
            await self._buckets.clear("bundles", subject)
            log.info("bundle_swept", subject=subject)
        return len(due)

    async def _unwanted(self) -> set[str]:
        """The subjects of names and chunks that nobody needs, traces of deletion included."""
        recorded = await self._records.recorded_bundles()
        names: set[str] = set()
        wanted: set[str] = set()
        async for batch in self._buckets.batches("bundles"):
            names |= {each.name_subject for each in batch}
            for each in batch:
                if each.name in recorded and not each.deleted:
                    wanted |= {each.name_subject, each.chunk_subject}
        return (names | await self._buckets.chunk_subjects("bundles")) - wanted
