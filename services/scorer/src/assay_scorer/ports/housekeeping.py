from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from assay_contracts.topology import BucketName
from assay_scorer.domain.retention import OwningValidation


class BundleRecords(Protocol):
    async def recorded_bundles(self) -> set[str]:
        """The keys of all bundles that a revision or a validation under way needs."""
        ...


class RetentionRecords(Protocol):
    async def owning_validations(self, ids: Collection[UUID]) -> Mapping[UUID, OwningValidation]:
        """Those of these validations that are still recorded."""
        ...

    async def remove_unused(self, *, environments_before: datetime, said_before: datetime) -> None:
        """Remove environments that nothing refers to, and what was said, if they are that old."""
        ...


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object in a bucket, which is a message with its name and messages with its chunks."""

    name: str
    deleted: bool
    """Only the trace of its deletion is left."""
    name_subject: str
    chunk_subject: str


class Buckets(Protocol):
    """Raises `nats.errors.Error` or TimeoutError when the bus does not answer."""

    def batches(self, bucket: BucketName) -> AsyncIterator[Sequence[StoredObject]]:
        """Everything that has a name in the bucket, a batch in memory at a time."""
        ...

    async def chunk_subjects(self, bucket: BucketName) -> set[str]:
        """Of all chunks, whether anything with a name has them or not."""
        ...

    async def clear(self, bucket: BucketName, subject: str) -> None:
        """Remove all messages of a name or of chunks."""
        ...
