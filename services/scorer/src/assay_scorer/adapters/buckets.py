"""The object store on the bus, as the messages that it is made of."""

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import Final

from assay_contracts.topology import BucketName
from assay_scorer.ports.housekeeping import StoredObject
from assay_servicekit.bus import Bus

BATCH: Final = 500


class JetStreamBuckets:
    """Implements `ports.housekeeping.Buckets`."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def batches(self, bucket: BucketName) -> AsyncIterator[Sequence[StoredObject]]:
        batch: list[StoredObject] = []
        async with aclosing(self._bus.objects.everything(bucket)) as objects:
            async for each in objects:
                batch.append(
                    StoredObject(each.name, each.deleted, each.name_subject, each.chunk_subject)
                )
                if len(batch) == BATCH:
                    yield batch
                    batch = []
        yield batch

    async def chunk_subjects(self, bucket: BucketName) -> set[str]:
        info = await self._bus.jetstream().stream_info(
            f"OBJ_{bucket}", subjects_filter=f"$O.{bucket}.C.>"
        )
        return set(info.state.subjects or {})

    async def clear(self, bucket: BucketName, subject: str) -> None:
        await self._bus.jetstream().purge_stream(f"OBJ_{bucket}", subject=subject)
