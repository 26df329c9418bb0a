"""What the gateway puts into and takes out of the bus's object store."""

from contextlib import ExitStack
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, Final, cast
from uuid import UUID

import structlog

from assay_contracts.rpc import Problem, ProblemDetails, ProblemError
from assay_contracts.topology import BucketName
from assay_servicekit.objects import ObjectMissing, ObjectStore, ObjectStoreUnavailable

log = structlog.get_logger(__name__)

RETRY_AFTER_S = 5
IN_MEMORY_BYTES: Final = 1024 * 1024
"""More than this of one download waits on disk."""


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
    """Implements `ports.Uploads`."""

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


class StoredObjects:
    """Implements `ports.ObjectStore`."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    async def fetch(self, bucket: BucketName, key: str) -> BinaryIO:
        with ExitStack() as unless_fetched:
            target = unless_fetched.enter_context(SpooledTemporaryFile(max_size=IN_MEMORY_BYTES))
            content = cast("BinaryIO", target)
            try:
                await self._objects.get_to(bucket, key, content)
            except ObjectMissing as error:
                raise ProblemError(
                    Problem(code="NOT_FOUND", message=f"It is no longer kept among the {bucket}.")
                ) from error
            except ObjectStoreUnavailable as error:
                raise _unavailable(error) from error
            content.seek(0)
            unless_fetched.pop_all()
            return content
