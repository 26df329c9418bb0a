"""Bundles and traces in the bus's object store."""

from dataclasses import dataclass

from pydantic import ValidationError

from assay_contracts.runs import JudgeTrace, Trace
from assay_contracts.skills import BundleRef
from assay_contracts.topology import BucketName
from assay_judge.ports import StoreFailed
from assay_servicekit.objects import ObjectMissing, ObjectStore, ObjectStoreUnavailable


@dataclass(frozen=True, slots=True)
class StoredBundles:
    objects: ObjectStore

    async def get(self, ref: BundleRef) -> bytes:
        return await _get(self.objects, "bundles", ref.key)


@dataclass(frozen=True, slots=True)
class StoredTraces:
    objects: ObjectStore

    async def get(self, key: str) -> Trace:
        data = await _get(self.objects, "traces", key)
        try:
            return Trace.model_validate_json(data)
        except ValidationError as error:
            raise StoreFailed(f"traces/{key} is no trace: {error}") from error


@dataclass(frozen=True, slots=True)
class StoredJudgeTraces:
    objects: ObjectStore

    async def keep(self, key: str, trace: JudgeTrace) -> None:
        try:
            await self.objects.put("judging", key, trace.model_dump_json().encode())
        except ObjectStoreUnavailable as error:
            raise StoreFailed(f"judging/{key}: {error}") from error


async def _get(objects: ObjectStore, bucket: BucketName, key: str) -> bytes:
    try:
        return await objects.get(bucket, key)
    except ObjectMissing as error:
        raise StoreFailed(f"{bucket}/{key} is not in the object store.") from error
    except ObjectStoreUnavailable as error:
        raise StoreFailed(f"{bucket}/{key}: {error}") from error
