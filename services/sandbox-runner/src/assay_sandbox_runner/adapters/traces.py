from assay_contracts.runs import Trace
from assay_sandbox_runner.ports import StoreFailed
from assay_servicekit.objects import ObjectStore, ObjectStoreUnavailable


class StoredTraces:
    """Traces as JSON in the `traces` bucket."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    async def keep(self, key: str, trace: Trace) -> None:
        """Raises StoreFailed."""
        try:
            await self._objects.put("traces", key, trace.model_dump_json().encode())
        except ObjectStoreUnavailable as error:
            raise StoreFailed(str(error)) from error
