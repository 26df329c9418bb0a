"""First answers in PostgreSQL."""

import asyncio
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Final

import structlog
from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncEngine

from assay_scorer.adapters.claims import KEPT_FOR, claimed
from assay_scorer.adapters.records import answering
from assay_scorer.adapters.tables import AnswerRow
from assay_scorer.ports import Answered
from assay_servicekit.bus import Unavailable

SWEEP_EVERY_S: Final = 3600.0

log = structlog.get_logger(__name__)


class PostgresAnswers:
    """Implements `ports.Answers`."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def find(self, key: str) -> Answered | None:
        statement = select(AnswerRow.fingerprint, AnswerRow.reply, AnswerRow.problem).where(
            AnswerRow.key == key, AnswerRow.at >= datetime.now(UTC) - KEPT_FOR
        )
        async with answering(), self._engine.connect() as connection:
            row = (await connection.execute(statement)).one_or_none()
        return None if row is None else Answered(row.fingerprint, row.reply, row.problem)

    def claimed(self, key: str, fingerprint: str) -> AbstractContextManager[None]:
        return claimed(key, fingerprint)

    async def keep(self, key: str, answered: Answered) -> None:
        values = {
            "fingerprint": answered.fingerprint,
            "at": datetime.now(UTC),
            "reply": answered.reply,
            "problem": answered.problem,
        }
        unanswered = AnswerRow.reply.is_(None) & AnswerRow.problem.is_(None)
        same = AnswerRow.fingerprint == answered.fingerprint
        statement = (
            insert(AnswerRow)
            .values(key=key, **values)
            .on_conflict_do_update(index_elements=["key"], set_=values, where=unanswered & same)
        )
        async with answering(), self._engine.begin() as connection:
            await connection.execute(statement)

    async def run(self) -> None:
        """Forget what is older than a day, until cancelled."""
        while True:
            await asyncio.sleep(SWEEP_EVERY_S)
            try:
                await self.sweep(datetime.now(UTC))
            except Unavailable as error:
                log.warning("answers_wait", error=str(error))

    async def sweep(self, now: datetime) -> None:
        """Raises Unavailable."""
        async with answering(), self._engine.begin() as connection:
            await connection.execute(delete(AnswerRow).where(AnswerRow.at < now - KEPT_FOR))
