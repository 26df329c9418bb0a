"""Results of approved skills in PostgreSQL, by what they rest on."""

from collections.abc import Collection, Sequence
from typing import Final
from uuid import UUID

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert

from assay_scorer.adapters.database import TransactionPart
from assay_scorer.adapters.tables import ResultRow
from assay_scorer.domain.results import StoredResult

KEPT: Final = 8
"""Results of one skill: those of a few environments, so that a rollback finds its own."""

_INSERT = insert(ResultRow)
_KEEP: Final = _INSERT.on_conflict_do_update(
    index_elements=["skill_id", "key"],
    set_={"at": _INSERT.excluded.at, "document": _INSERT.excluded.document},
)
_NUMBERED: Final = select(
    ResultRow.skill_id,
    ResultRow.key,
    ResultRow.document,
    func.row_number()
    .over(partition_by=ResultRow.skill_id, order_by=ResultRow.at.desc())
    .label("number"),
)


class PostgresResults(TransactionPart):
    """Implements `ports.results.ResultChanges`."""

    async def known_results(self, skill_ids: Collection[UUID]) -> Sequence[StoredResult]:
        numbered = _NUMBERED.where(ResultRow.skill_id.in_(skill_ids)).subquery()
        newest = select(numbered.c.document).where(numbered.c.number <= KEPT)
        rows = (await self._connection.execute(newest)).scalars()
        return [StoredResult.model_validate(document) for document in rows]

    async def keep_results(self, results: Sequence[StoredResult]) -> None:
        if not results:
            return
        rows = [
            {
                "skill_id": result.skill_id,
                "key": result.key.digest,
                "at": result.at,
                "document": result.model_dump(mode="json"),
            }
            for result in results
        ]
        await self._connection.execute(_KEEP, rows)
        skills = {result.skill_id for result in results}
        numbered = _NUMBERED.where(ResultRow.skill_id.in_(skills)).subquery()
        await self._connection.execute(
            delete(ResultRow).where(
                ResultRow.skill_id == numbered.c.skill_id,
                ResultRow.key == numbered.c.key,
                numbered.c.number > KEPT,
            )
        )
