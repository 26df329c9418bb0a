"""Large things travel through the bus's object store; messages carry their keys."""

import asyncio
import io
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from hashlib import sha256
from secrets import token_hex
from typing import BinaryIO

from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.api import Header, ObjectInfo, ObjectMeta, ObjectMetaOptions
from nats.js.errors import NotFoundError, ObjectDeletedError, ObjectNotFoundError
from nats.js.kv import MSG_ROLLUP_SUBJECT
from nats.js.object_store import ObjectStore as NatsObjectStore

from assay_contracts.topology import BucketName

TIMEOUT_S = 60.0
CHUNK_BYTES = 512 * 1024
"""Half of what a message may hold: each chunk is written through to the disk before the next."""


class ObjectMissing(LookupError):
    """The bucket holds nothing under this key."""


class ObjectStoreUnavailable(OSError):
    """The object store did not answer in time or refused."""


class ObjectStore:
    """Buckets of bytes. Contents are verified against their digest when read."""

    def __init__(self, jetstream: Callable[[], JetStreamContext]) -> None:
        self._jetstream = jetstream
        self._buckets: dict[BucketName, NatsObjectStore] = {}

    async def put(self, bucket: BucketName, key: str, data: bytes | BinaryIO) -> None:
        """Store `data`, replacing what was there. Raises ObjectStoreUnavailable."""

        async def write() -> None:
            meta = ObjectMeta(options=ObjectMetaOptions(max_chunk_size=CHUNK_BYTES))
            await (await self._bucket(bucket)).put(key, data, meta)  # type: ignore[arg-type]  # typed too narrowly

        await self._within_time(f"writing {bucket}/{key}", write)

    async def put_new(self, bucket: BucketName, key: str, data: bytes) -> None:
        """As `put`, under a key that was never used: what there might be is not looked up."""

        async def write() -> None:
            js = self._jetstream()
            chunks = [data[at : at + CHUNK_BYTES] for at in range(0, len(data), CHUNK_BYTES)]
            nuid = token_hex(11)
            info = ObjectInfo(
                name=key,
                bucket=bucket,
                nuid=nuid,
                size=len(data),
                chunks=len(chunks),
                mtime=datetime.now(UTC).isoformat(),
                digest=f"SHA-256={urlsafe_b64encode(sha256(data).digest()).decode()}",
                options=ObjectMetaOptions(max_chunk_size=CHUNK_BYTES),
            )
            # Sent in this order over one connection: what makes the chunks an object comes last.
            await asyncio.gather(
                *(js.publish(f"$O.{bucket}.C.{nuid}", chunk) for chunk in chunks),
                js.publish(
                    f"$O.{bucket}.M.{urlsafe_b64encode(key.encode()).decode()}",
                    json.dumps(info.as_dict()).encode(),
                    headers={Header.ROLLUP: MSG_ROLLUP_SUBJECT},
                ),
            )

        await self._within_time(f"writing {bucket}/{key}", write)

    async def get(self, bucket: BucketName, key: str) -> bytes:
        """Raises ObjectMissing, ObjectStoreUnavailable."""
        target = io.BytesIO()
        await self.get_to(bucket, key, target)
        return target.getvalue()

    async def get_to(self, bucket: BucketName, key: str, target: BinaryIO) -> None:
        """Write the object into `target`. Raises ObjectMissing, ObjectStoreUnavailable."""

        async def read() -> None:
            # Without `writeinto` the client joins the chunks in quadratic time.
            await (await self._bucket(bucket)).get(key, writeinto=target)  # type: ignore[arg-type]  # typed too narrowly

        await self._within_time(f"reading {bucket}/{key}", read)

    async def keys(self, bucket: BucketName) -> list[str]:
        """Of all objects, and of those that were deleted. Raises ObjectStoreUnavailable."""
        found: list[str] = []
        start = f"$O.{bucket}.M."

        async def look() -> None:
            # Asks the stream and makes no consumer: nobody here may make one for a whole bucket.
            info = await self._jetstream().stream_info(f"OBJ_{bucket}", f"{start}>")
            subjects = info.state.subjects or {}
            found.extend(urlsafe_b64decode(each.removeprefix(start)).decode() for each in subjects)

        await self._within_time(f"listing {bucket}", look)
        return sorted(found)

    async def delete(self, bucket: BucketName, key: str) -> None:
        """Delete the object if it is there. Raises ObjectStoreUnavailable."""

        async def drop() -> None:
            await (await self._bucket(bucket)).delete(key)

        try:
            await self._within_time(f"deleting {bucket}/{key}", drop)
        except ObjectMissing:
            return

    async def _bucket(self, name: BucketName) -> NatsObjectStore:
        if name not in self._buckets:
            try:
                self._buckets[name] = await self._jetstream().object_store(name)
            except NotFoundError as error:
                raise ObjectStoreUnavailable(f"the bus has no bucket {name} yet") from error
        return self._buckets[name]

    async def _within_time(self, doing: str, step: Callable[[], Awaitable[None]]) -> None:
        try:
            async with asyncio.timeout(TIMEOUT_S):
                await step()
        except (ObjectNotFoundError, ObjectDeletedError, NotFoundError) as error:
            raise ObjectMissing(doing) from error
        except (TimeoutError, NatsError, OSError) as error:
            raise ObjectStoreUnavailable(
                f"{doing}: the bus's object store gave {type(error).__name__}"
            ) from error
