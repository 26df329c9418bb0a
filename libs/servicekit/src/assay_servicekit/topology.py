"""Applies the declared topology to a bus, as often as one likes.

The scorer does so; by hand it is `python -m assay_servicekit.topology nats://…`.
"""

import asyncio
import sys

import nats
import structlog
from nats.js import JetStreamContext
from nats.js.api import (
    AckPolicy,
    ConsumerConfig,
    DiscardPolicy,
    ObjectStoreConfig,
    RePublish,
    RetentionPolicy,
    StorageType,
    StreamConfig,
)
from nats.js.errors import BadRequestError, NotFoundError

from assay_contracts.topology import (
    ACK_WAIT,
    BUCKETS,
    CONSUMERS,
    JETSTREAM_PREFIX,
    REPEATED_AS,
    STREAMS,
    Consumer,
    Stream,
)

log = structlog.get_logger(__name__)


def _stream_config(stream: Stream) -> StreamConfig:
    return StreamConfig(
        name=stream.name,
        subjects=list(stream.subjects),
        retention=RetentionPolicy.WORK_QUEUE if stream.work_queue else RetentionPolicy.LIMITS,
        # A full work queue must refuse new work: dropping old work would lose it in silence.
        discard=DiscardPolicy.NEW if stream.work_queue else DiscardPolicy.OLD,
        storage=StorageType.FILE,
        max_age=stream.max_age.total_seconds() if stream.max_age else 0,
        duplicate_window=stream.duplicate_window.total_seconds(),
        allow_direct=True,
        republish=RePublish(src=">", dest=f"{REPEATED_AS}.>") if stream.repeated else None,
    )


def _consumer_config(consumer: Consumer) -> ConsumerConfig:
    return ConsumerConfig(
        durable_name=consumer.name,
        filter_subject=consumer.subject,
        ack_policy=AckPolicy.EXPLICIT,
        ack_wait=ACK_WAIT.total_seconds(),
        max_ack_pending=consumer.max_ack_pending,
        # The budget of tries is ours: a message past the server's would lie there unseen.
        max_deliver=-1,
    )


async def apply_topology(js: JetStreamContext) -> None:
    """Create or update every stream, consumer and bucket, and remove consumers of others."""
    for stream in STREAMS:
        config = _stream_config(stream)
        try:
            await js.add_stream(config)
        except BadRequestError:
            await js.update_stream(config)
        await _remove_strange_consumers(js, stream.name)
    for consumer in CONSUMERS:
        await js.add_consumer(consumer.stream, _consumer_config(consumer))
    for bucket in BUCKETS:
        try:
            await js.stream_info(f"OBJ_{bucket.name}")
        except NotFoundError:
            await js.create_object_store(
                bucket.name,
                config=ObjectStoreConfig(
                    ttl=bucket.ttl.total_seconds() if bucket.ttl else None,
                    storage=StorageType.FILE,
                ),
            )
        await _remove_strange_consumers(js, f"OBJ_{bucket.name}")


async def _remove_strange_consumers(js: JetStreamContext, stream: str) -> None:
    """A consumer delivers with the server's rights: none stays that is not declared as it is."""
    declared = {consumer.name for consumer in CONSUMERS if consumer.stream == stream}
    while strange := [
        info.name
        for info in await js.consumers_info(stream)
        if info.name not in declared or info.config.deliver_subject
    ]:
        for name in strange:
            log.warning("consumer_removed", stream=stream, consumer=name)
            await js.delete_consumer(stream, name)


async def _apply_at(url: str) -> None:
    connection = await nats.connect(url, max_reconnect_attempts=3)
    try:
        await apply_topology(connection.jetstream(prefix=JETSTREAM_PREFIX))
    finally:
        await connection.close()


if __name__ == "__main__":
    asyncio.run(_apply_at(sys.argv[1]))
