"""Environments in the bus's object store, where every runner finds them."""

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nats.errors import Error as NatsError

from assay_contracts.topology import BucketName
from assay_sandboxes.environments.store import EnvironmentRecord
from assay_servicekit.objects import ObjectMissing, ObjectStore

_RECORDS: Final[tuple[BucketName, ...]] = ("kept-environments", "environments")
_CONTENTS: Final[tuple[BucketName, ...]] = ("kept-contents", "contents")


@dataclass(frozen=True, slots=True)
class StoredEnvironments:
    """Records by name, and what they are made from by its digest; apart what is kept for good.

    Methods raise `OSError`, as the object store does.
    """

    objects: ObjectStore

    async def read(self, name: str) -> EnvironmentRecord | None:
        for bucket in _RECORDS:
            with suppress(ObjectMissing):
                content = await self.objects.get(bucket, name)
                return EnvironmentRecord.model_validate_json(content)
        return None

    async def write(self, name: str, record: EnvironmentRecord) -> None:
        bucket: BucketName = "kept-environments" if record.kept else "environments"
        await self.objects.put(bucket, name, record.model_dump_json().encode())
        if record.kept:
            await self.objects.delete("environments", name)

    async def delete(self, name: str) -> None:
        record = await self.read(name)
        for bucket in _RECORDS:
            await self.objects.delete(bucket, name)
        if record is not None and record.kept:
            await self._forget_unused(record.lock.contents)

    async def _forget_unused(self, contents: Collection[str]) -> None:
        """Delete those of these contents that no other kept environment is made of."""
        needed: set[str] = set()
        try:
            names = [each.name async for each in self.objects.everything("kept-environments")]
        except (NatsError, TimeoutError) as error:
            raise OSError(f"the kept environments cannot be listed: {error!r}") from error
        for name in names:
            with suppress(ObjectMissing):
                kept = await self.objects.get("kept-environments", name)
                needed |= EnvironmentRecord.model_validate_json(kept).lock.contents
        for sha256 in sorted(set(contents) - needed):
            await self.objects.delete("kept-contents", sha256)

    async def fetch(self, sha256: str, target: Path) -> bool:
        for bucket in _CONTENTS:
            with suppress(ObjectMissing), target.open("wb") as file:
                await self.objects.get_to(bucket, sha256, file)
                return True
        return False

    async def store(self, sha256: str, source: Path, *, kept: bool = False) -> None:
        bucket: BucketName = "kept-contents" if kept else "contents"
        with source.open("rb") as file:
            await self.objects.put(bucket, sha256, file)
