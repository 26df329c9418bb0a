"""Uploads and bundles in the bus's object store."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO
from uuid import UUID

from assay_ingest.ports import StorageUnavailable, UploadMissing
from assay_servicekit.objects import ObjectMissing, ObjectStore, ObjectStoreUnavailable


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except ObjectStoreUnavailable as error:
        raise StorageUnavailable(str(error)) from error


@dataclass(frozen=True, slots=True)
class StoredUploads:
    objects: ObjectStore

    async def fetch(self, upload_id: UUID, target: BinaryIO) -> None:
        with _translated():
            try:
                await self.objects.get_to("uploads", str(upload_id), target)
            except ObjectMissing as error:
                raise UploadMissing(str(upload_id)) from error

    async def discard(self, upload_id: UUID) -> None:
        with _translated():
            await self.objects.delete("uploads", str(upload_id))


@dataclass(frozen=True, slots=True)
class StoredBundles:
    objects: ObjectStore

    async def keep(self, key: str, bundle: BinaryIO) -> None:
        with _translated():
            await self.objects.put("bundles", key, bundle)

    async def discard(self, key: str) -> None:
        with _translated():
            await self.objects.delete("bundles", key)
