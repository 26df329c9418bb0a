"""What is too large for the bus goes through the object store, and a small message in its place.

Only work and results do: who takes them is a service of ours. Who says anything else sees to it
that it fits.
"""

import json
from hashlib import sha256
from typing import Final
from uuid import UUID, uuid4

from nats.errors import Error as NatsError
from pydantic import ValidationError

from assay_contracts.base import LARGEST_BYTES, MESSAGE_BYTES, Result, SentApart, StoredBody
from assay_servicekit.objects import ObjectMissing, ObjectStore

BUCKET: Final = "messages"
PARTS_NAMED: Final = 3
ENVELOPE_BYTES: Final = 4096


class MessageTooLarge(NatsError):
    """No message can carry this; saying it again would not help."""


class BodyMissing(ValueError):
    """The body of a message is not in the object store, or not as it was put there."""


async def fitted(body: bytes, objects: ObjectStore, *, may_go_apart: bool) -> bytes:
    """What to say for `body`: itself, or where it lies now.

    Raises MessageTooLarge, ObjectStoreUnavailable.
    """
    if len(body) <= MESSAGE_BYTES:
        return body
    if not may_go_apart or len(body) > LARGEST_BYTES:
        raise MessageTooLarge(told(body))
    said = json.loads(body)
    secrets = {name: said.pop(name, None) for name in ("message_id", "work_id")}
    stored = json.dumps(said).encode()
    key = f"{said['step_id']}/{uuid4().hex}.json"
    await objects.put(BUCKET, key, stored)
    return (
        SentApart(
            message_type=said["message_type"],
            message_id=UUID(secrets["message_id"]),
            work_id=UUID(secrets["work_id"]) if secrets["work_id"] else None,
            sent_apart=StoredBody(key=key, sha256=sha256(stored).hexdigest(), size=len(stored)),
        )
        .model_dump_json()
        .encode()
    )


async def whole(body: bytes, objects: ObjectStore) -> bytes:
    """The message that was meant. Raises BodyMissing, ObjectStoreUnavailable."""
    if len(body) > ENVELOPE_BYTES or b'"sent_apart"' not in body:
        return body
    try:
        envelope = SentApart.model_validate_json(body)
    except ValidationError:
        return body
    where = envelope.sent_apart
    try:
        stored = await objects.get(BUCKET, where.key)
    except ObjectMissing as error:
        raise BodyMissing(f"{BUCKET}/{where.key} is not there") from error
    if (len(stored), sha256(stored).hexdigest()) != (where.size, where.sha256):
        raise BodyMissing(f"{BUCKET}/{where.key} is not what was put there")
    said = json.loads(stored)
    said["message_id"] = str(envelope.message_id)
    if envelope.work_id:
        said["work_id"] = str(envelope.work_id)
    return json.dumps(said).encode()


def told(body: bytes) -> str:
    """Why it cannot be said, and what of it is too large."""
    parts = {name: len(json.dumps(value)) for name, value in json.loads(body).items()}
    largest = sorted(parts.items(), key=lambda part: -part[1])[:PARTS_NAMED]
    named = ", ".join(f"{name} {size:,}" for name, size in largest)
    return (
        f"it would take {len(body):,} bytes, and {LARGEST_BYTES:,} is the most; left out are"
        f" {named} bytes"
    )


def is_too_large(result: Result) -> str | None:
    """Why a result cannot be said at all; none if it can."""
    body = result.model_dump_json().encode()
    return told(body) if len(body) > LARGEST_BYTES else None
