from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from assay_contracts.base import Message
from assay_contracts.validations import CleanupRequested
from assay_scorer.domain.decisions import Outgoing


class Outbox(Protocol):
    """Within a transaction."""

    async def add_to_outbox(self, outgoing: Sequence[Outgoing], now: datetime) -> None:
        """These are to be said once the transaction is through."""
        ...


class CleanupRequests(Protocol):
    """Within a transaction."""

    async def cleanup_asked(self, step_id: str, attempt: int) -> CleanupRequested | None:
        """What was asked for at that attempt, as long as the outbox remembers it."""
        ...


class Announcer(Protocol):
    async def announce(self, message: Message) -> None:
        """Say something live that may be missed."""
        ...

    def wake(self) -> None:
        """There is something new in the outbox."""
        ...


@dataclass(frozen=True, slots=True)
class DueMessage:
    row: int
    subject: str
    body: str
    dedup_key: str
    traceparent: str | None


class DueMessages(Protocol):
    @property
    def messages(self) -> Sequence[DueMessage]: ...

    def published(self, message: DueMessage, at: datetime, sequence: int | None) -> None:
        """The bus has it, with this number in its stream; counts if the block ends well."""
        ...


class UnsaidMessages(Protocol):
    def lock_due(self, now: datetime, limit: int) -> AbstractAsyncContextManager[DueMessages]:
        """What is to be said by now, the oldest first; nobody else gets it within the block."""
        ...


class SaidMessages(Protocol):
    async def sequences(self, dedup_keys: Collection[str]) -> Mapping[str, int]:
        """Of those that the bus took, by key: their numbers in their streams."""
        ...


class AskedWork(Protocol):
    async def message_ids(self, dedup_keys: Collection[str]) -> set[UUID]:
        """Of what was asked for under these keys, as long as the outbox remembers it.

        Raises Unavailable.
        """
        ...


class WorkOnBus(Protocol):
    """Raises `nats.errors.Error` or TimeoutError when the bus does not answer."""

    async def restore_topology(self) -> None:
        """Make streams, consumers and buckets that are gone."""
        ...

    async def holds(self, sequence: int, dedup_key: str) -> bool:
        """Whether this work is still on the bus."""
        ...
