"""How a transaction takes the key of the question it answers along."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from sqlalchemy import delete
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from assay_scorer.adapters.tables import AnswerRow
from assay_scorer.ports import KeyTaken

KEPT_FOR: Final = timedelta(hours=24)


@dataclass(slots=True)
class _Claim:
    key: str
    fingerprint: str
    made: bool = False


_CURRENT: ContextVar[_Claim | None] = ContextVar("claim", default=None)


@contextmanager
def claimed(key: str, fingerprint: str) -> Iterator[None]:
    token = _CURRENT.set(_Claim(key, fingerprint))
    try:
        yield
    finally:
        _CURRENT.reset(token)


async def claim_within(connection: AsyncConnection) -> None:
    """See `ports.Answers.claimed`. Whoever has the key is waited for."""
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
