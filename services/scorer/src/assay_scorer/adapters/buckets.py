"""The object store on the bus, as the messages that it is made of."""

from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Sequence
from typing import Final

from nats.js.api import ObjectInfo

from assay_contracts.topology import BucketName
from assay_scorer.ports.housekeeping import StoredObject
from assay_servicekit.bus import Bus

BATCH: Final = 500


class JetStreamBuckets:
    """Implements `ports.housekeeping.Buckets`."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def batches(self, bucket: BucketName) -> AsyncIterator[Sequence[StoredObject]]:
        watcher = await (await self._bus.jetstream().object_store(bucket)).watch()
        batch: list[StoredObject] = []
        try:
            async for info in watcher:
                if info is None:  # The end of what is there.
                    break
                batch.append(_stored(bucket, info))
                if len(batch) == BATCH:
                    yield batch
                    batch = []
        finally:
            await watcher.stop()  # type: ignore[no-untyped-call]  # nats-py leaves it untyped
        yield batch

    async def chunk_subjects(self, bucket: BucketName) -> set[str]:
        info = await self._bus.jetstream().stream_info(
            f"OBJ_{bucket}", subjects_filter=f"$O.{bucket}.C.>"
        )
        return set(info.state.subjects or {})

    async def clear(self, bucket: BucketName, subject: str) -> None:
        await self._bus.jetstream().purge_stream(f"OBJ_{bucket}", subject=subject)


def _stored(bucket: BucketName, info: ObjectInfo) -> StoredObject:
    encoded = urlsafe_b64encode(info.name.encode()).decode()
    return StoredObject(
        name=info.name,
        deleted=bool(info.deleted),
        name_subject=f"$O.{bucket}.M.{encoded}",
        chunk_subject=f"$O.{bucket}.C.{info.nuid}",
    )
