"""Uploads and reports in the bus's object store."""

from typing import BinaryIO
from uuid import UUID

import structlog

from assay_contracts.rpc import Problem, ProblemDetails, ProblemError
from assay_servicekit.objects import ObjectStore, ObjectStoreUnavailable

log = structlog.get_logger(__name__)

RETRY_AFTER_S = 5


def _unavailable(error: ObjectStoreUnavailable) -> ProblemError:
    log.warning("object_store_unavailable", reason=str(error))
    return ProblemError(
        Problem(
            code="SERVICE_UNAVAILABLE",
            message="The object store did not answer. Try again in a few seconds.",
            details=ProblemDetails(retry_after_s=RETRY_AFTER_S),
        )
    )


class StoredUploads:
    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    async def put(self, upload_id: UUID, content: BinaryIO) -> None:
        try:
            await self._objects.put("uploads", str(upload_id), content)
        except ObjectStoreUnavailable as error:
            raise _unavailable(error) from error

    async def discard(self, upload_id: UUID) -> None:
        try:
            await self._objects.delete("uploads", str(upload_id))
        except ObjectStoreUnavailable as error:
            log.warning("upload_left_to_expire", upload_id=str(upload_id), reason=str(error))


class StoredReports:
    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    async def fetch(self, key: str) -> bytes:
        try:
            return await self._objects.get("reports", key)
        except ObjectStoreUnavailable as error:
            raise _unavailable(error) from error
