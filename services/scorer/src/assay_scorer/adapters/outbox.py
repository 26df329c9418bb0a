"""What is to be said and what was, in PostgreSQL."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import Integer, bindparam, cast, select, update
from sqlalchemy.dialects.postgresql import JSONB, insert

from assay_contracts.base import Message
from assay_contracts.validations import CleanupRequested
from assay_scorer.adapters.database import Repository, TransactionPart
from assay_scorer.adapters.tables import OutboxRow, table_of
from assay_scorer.domain.decisions import Outgoing
from assay_scorer.ports.outbox import DueMessage
from assay_servicekit.telemetry import current_traceparent

_OUTBOX: Final = table_of(OutboxRow)
_ADD: Final = insert(_OUTBOX).on_conflict_do_nothing(index_elements=["dedup_key"])
_DUE: Final = (
    select(OutboxRow.id, OutboxRow.subject, OutboxRow.body, OutboxRow.dedup_key)
    .add_columns(OutboxRow.traceparent)
    .where(OutboxRow.published_at.is_(None), OutboxRow.due_at <= bindparam("now"))
    .order_by(OutboxRow.due_at, OutboxRow.id)
    .limit(bindparam("limit", type_=Integer))
    .with_for_update(skip_locked=True)
)
_SAID: Final = (
    update(_OUTBOX)
    .where(OutboxRow.id == bindparam("row"))
    .values(published_at=bindparam("at"), sequence=bindparam("number"))
)


class PostgresOutboxChanges(TransactionPart):
    """Implements `ports.outbox.Outbox` and `ports.outbox.CleanupRequests`."""

    async def add_to_outbox(self, outgoing: Sequence[Outgoing], now: datetime) -> None:
        for each in outgoing:
            row = outbox_row(each.message, now, now + each.delay)
            await self._connection.execute(_ADD, row)

    async def cleanup_asked(self, step_id: str, attempt: int) -> CleanupRequested | None:
        keys = CleanupRequested.dedup_keys(step_id, attempt)
        body = await self._connection.scalar(
            select(OutboxRow.body).where(OutboxRow.dedup_key.in_(keys))
        )
        return None if body is None else CleanupRequested.model_validate_json(body)


class LockedMessages:
    """Implements `ports.outbox.DueMessages`."""

    def __init__(self, messages: Sequence[DueMessage]) -> None:
        self.messages = messages
        self.said: list[dict[str, object]] = []

    def published(self, message: DueMessage, at: datetime, sequence: int | None) -> None:
        self.said.append({"row": message.row, "at": at, "number": sequence})


class PostgresOutbox(Repository):
    """Implements `ports.outbox.UnsaidMessages`, `SaidMessages` and `AskedWork`."""

    @asynccontextmanager
    async def lock_due(self, now: datetime, limit: int) -> AsyncIterator[LockedMessages]:
        async with self._changing() as connection:
            rows = (await connection.execute(_DUE, {"now": now, "limit": limit})).all()
            locked = LockedMessages([DueMessage(*row) for row in rows])
            yield locked
            if locked.said:
                await connection.execute(_SAID, locked.said)

    async def sequences(self, dedup_keys: Collection[str]) -> Mapping[str, int]:
        statement = select(OutboxRow.dedup_key, OutboxRow.sequence).where(
            OutboxRow.dedup_key.in_(dedup_keys), OutboxRow.sequence.is_not(None)
        )
        async with self._reading() as connection:
            return {row.dedup_key: row.sequence for row in await connection.execute(statement)}

    async def message_ids(self, dedup_keys: Collection[str]) -> set[UUID]:
        body = cast(OutboxRow.body, JSONB)
        statement = select(body["message_id"].astext).where(OutboxRow.dedup_key.in_(dedup_keys))
        async with self._reading() as connection:
            return {UUID(each) for each in await connection.scalars(statement)}


def outbox_row(message: Message, now: datetime, due_at: datetime) -> dict[str, object]:
    return {
        "dedup_key": message.dedup_key(),
        "subject": message.subject(),
        "body": message.model_dump_json(),
        "traceparent": current_traceparent(),
        "created_at": now,
        "due_at": due_at,
    }
