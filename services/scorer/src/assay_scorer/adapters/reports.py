from assay_servicekit.bus import Unavailable
from assay_servicekit.objects import ObjectStore, ObjectStoreUnavailable


class ReportBucket:
    """Implements `ports.Reports` on the object store."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    async def keep(self, key: str, content: bytes) -> None:
        try:
            await self._objects.put("reports", key, content)
        except ObjectStoreUnavailable as error:
            raise Unavailable(str(error)) from error
