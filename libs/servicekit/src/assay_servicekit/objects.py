"""Large things travel through the bus's object store; messages carry their keys.

The layout is NATS's own. Reading and writing are ours, because its client makes a consumer for
each read, and no service may make one.
"""

import asyncio
import io
import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from secrets import token_hex
from typing import BinaryIO, Final

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.api import Header, ObjectInfo, ObjectMetaOptions
from nats.js.errors import NotFoundError
from nats.js.kv import MSG_ROLLUP_SUBJECT

from assay_contracts.topology import BucketName
from assay_servicekit.kept_messages import Kept, KeptMessages

TIMEOUT_S = 60.0
CHUNK_BYTES = 512 * 1024
"""Half of what a message may hold: each chunk is written through to the disk before the next."""


NUID: Final = re.compile(r"[A-Za-z0-9]{1,64}")


class ObjectMissing(LookupError):
    """The bucket holds nothing under this key."""


class ObjectStoreUnavailable(OSError):
    """The object store did not answer in time or refused."""


class ObjectDamaged(OSError):
    """What the bucket holds under this key is not what was put there."""


@dataclass(frozen=True, slots=True)
class Stored:
    """An object's name, and the subjects of the messages that it is made of."""

    name: str
    deleted: bool
    name_subject: str
    chunk_subject: str
    digest: bytes
    size: int


class ObjectStore:
    """Buckets of bytes. Contents are verified against their digest when read."""

    def __init__(
        self, connection: Callable[[], Client], jetstream: Callable[[], JetStreamContext]
    ) -> None:
        self._connection = connection
        self._jetstream = jetstream

    async def put(self, bucket: BucketName, key: str, data: bytes | BinaryIO) -> None:
        """Store `data`, replacing what was there. Raises ObjectStoreUnavailable."""
        source = io.BytesIO(data) if isinstance(data, bytes) else data

        async def write() -> None:
            js = self._jetstream()
            nuid, digest, size, chunks = token_hex(11), sha256(), 0, 0
            chunk = await asyncio.to_thread(source.read, CHUNK_BYTES)
            following = b"" if len(chunk) < CHUNK_BYTES else None
            while chunk:
                digest.update(chunk)
                size, chunks = size + len(chunk), chunks + 1
                if following is None:
                    following = await asyncio.to_thread(source.read, CHUNK_BYTES)
                if not following:
                    break
                await js.publish(f"$O.{bucket}.C.{nuid}", chunk)
                chunk, following = following, None
            info = ObjectInfo(
                name=key,
                bucket=bucket,
                nuid=nuid,
                size=size,
                chunks=chunks,
                mtime=datetime.now(UTC).isoformat(),
                digest=f"SHA-256={urlsafe_b64encode(digest.digest()).decode()}",
                options=ObjectMetaOptions(max_chunk_size=CHUNK_BYTES),
            )
            # Sent in this order over one connection: what makes the chunks an object comes last.
            await asyncio.gather(
                *([js.publish(f"$O.{bucket}.C.{nuid}", chunk)] if chunk else []),
                js.publish(
                    _name_subject(bucket, key),
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
            stored = await self._find(bucket, key)
            digest, size = sha256(), 0
            if stored.size:
                async with aclosing(
                    self._messages(bucket).after(0, stored.chunk_subject)
                ) as chunks:
                    async for chunk in chunks:
                        await asyncio.to_thread(target.write, chunk.data)
                        digest.update(chunk.data)
                        size += len(chunk.data)
            if (size, digest.digest()) != (stored.size, stored.digest):
                raise ObjectDamaged(f"{size} of {stored.size} bytes")

        await self._within_time(f"reading {bucket}/{key}", read)

    async def delete(self, bucket: BucketName, key: str) -> None:
        """Delete the object if it is there. Raises ObjectStoreUnavailable."""

        async def drop() -> None:
            stored = await self._find(bucket, key)
            await self._jetstream().purge_stream(_stream(bucket), subject=stored.name_subject)
            await self._jetstream().purge_stream(_stream(bucket), subject=stored.chunk_subject)

        try:
            await self._within_time(f"deleting {bucket}/{key}", drop)
        except ObjectMissing:
            return

    async def everything(self, bucket: BucketName) -> AsyncGenerator[Stored]:
        """Every object there is; a record of none is left out.

        Raises `nats.errors.Error` or TimeoutError.
        """
        async with aclosing(self._messages(bucket).after(0, f"$O.{bucket}.M.*")) as named:
            async for message in named:
                with suppress(ObjectDamaged):
                    yield _stored(bucket, message)

    async def _find(self, bucket: BucketName, key: str) -> Stored:
        found = await self._messages(bucket).last(_name_subject(bucket, key))
        if found is None or (stored := _stored(bucket, found)).deleted:
            raise ObjectMissing(f"{bucket}/{key}")
        return stored

    def _messages(self, bucket: BucketName) -> KeptMessages:
        return KeptMessages(self._connection, _stream(bucket))

    async def _within_time(self, doing: str, step: Callable[[], Awaitable[None]]) -> None:
        try:
            async with asyncio.timeout(TIMEOUT_S):
                await step()
        except NotFoundError as error:
            raise ObjectMissing(doing) from error
        except (TimeoutError, NatsError, OSError) as error:
            raise ObjectStoreUnavailable(
                f"{doing}: the bus's object store gave {type(error).__name__}"
            ) from error


def _stream(bucket: BucketName) -> str:
    return f"OBJ_{bucket}"


def _name_subject(bucket: BucketName, key: str) -> str:
    return f"$O.{bucket}.M.{urlsafe_b64encode(key.encode()).decode()}"


def _stored(bucket: BucketName, message: Kept) -> Stored:
    """Raises ObjectDamaged when the record is none."""
    try:
        info = ObjectInfo.from_response(json.loads(message.data))
        digest = urlsafe_b64decode((info.digest or "").partition("=")[2])
        # It becomes a subject: a wildcard there would mean the chunks of all others.
        sound = NUID.fullmatch(info.nuid) and _name_subject(bucket, info.name) == message.subject
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ObjectDamaged(f"{message.subject} is no record of an object") from error
    if not sound:
        raise ObjectDamaged(f"{message.subject} names what is not its own")
    return Stored(
        name=info.name,
        deleted=bool(info.deleted),
        name_subject=message.subject,
        chunk_subject=f"$O.{bucket}.C.{info.nuid}",
        digest=digest,
        size=info.size or 0,
    )
