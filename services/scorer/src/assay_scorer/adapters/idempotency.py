"""First answers by key in PostgreSQL, and how a transaction takes its question's key along."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from assay_scorer.adapters.database import Repository
from assay_scorer.adapters.tables import AnswerRow
from assay_scorer.ports.idempotency import KEPT_FOR, KeyTaken, StoredAnswer


class PostgresAnswers(Repository):
    """Implements `ports.idempotency`: `StoredAnswers` and `AnswerExpiry`."""

    async def find(self, key: str) -> StoredAnswer | None:
        statement = select(AnswerRow.fingerprint, AnswerRow.reply, AnswerRow.problem).where(
            AnswerRow.key == key, AnswerRow.at >= datetime.now(UTC) - KEPT_FOR
        )
        async with self._reading() as connection:
            row = (await connection.execute(statement)).one_or_none()
        return None if row is None else StoredAnswer(row.fingerprint, row.reply, row.problem)

    def claimed(self, key: str, fingerprint: str) -> AbstractContextManager[None]:
        return _claimed(key, fingerprint)

    async def keep(self, key: str, answer: StoredAnswer) -> None:
        values = {
            "fingerprint": answer.fingerprint,
            "at": datetime.now(UTC),
            "reply": answer.reply,
            "problem": answer.problem,
        }
        unanswered = AnswerRow.reply.is_(None) & AnswerRow.problem.is_(None)
        same = AnswerRow.fingerprint == answer.fingerprint
        statement = (
            insert(AnswerRow)
            .values(key=key, **values)
            .on_conflict_do_update(index_elements=["key"], set_=values, where=unanswered & same)
        )
        async with self._changing() as connection:
            await connection.execute(statement)

    async def remove_answers(self, before: datetime) -> None:
        async with self._changing() as connection:
            await connection.execute(delete(AnswerRow).where(AnswerRow.at < before))


@dataclass(slots=True)
class _Claim:
    key: str
    fingerprint: str
    made: bool = False


_CURRENT: ContextVar[_Claim | None] = ContextVar("claim", default=None)


@contextmanager
def _claimed(key: str, fingerprint: str) -> Iterator[None]:
    token = _CURRENT.set(_Claim(key, fingerprint))
    try:
        yield
    finally:
        _CURRENT.reset(token)


async def claim_key(connection: AsyncConnection) -> None:
    """Take the key of the question under way along, if it has one.

    See `ports.idempotency.StoredAnswers.claimed`. Whoever has the key is waited for.
    """
    claim = _CURRENT.get()
    if claim is None or claim.made:
        return
    now = datetime.now(UTC)
    await connection.execute(
        delete(AnswerRow).where(AnswerRow.key == claim.key, AnswerRow.at < now - KEPT_FOR)
    )
    row = {"key": claim.key, "fingerprint": claim.fingerprint, "at": now}
    taken = await connection.scalar(
        insert(AnswerRow)
        .values(row)
        .on_conflict_do_nothing(index_elements=["key"])
        .returning(AnswerRow.key)
    )
    if taken is None:
        raise KeyTaken(claim.key)
    claim.made = True
