"""What is asked about full tests, answered from PostgreSQL."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import Row, Select, bindparam, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from assay_contracts.full_tests import (
    FullTestCounts,
    FullTestPage,
    FullTestSummary,
    FullTestView,
    ListFullTests,
)
from assay_contracts.validations import FullTestSkill
from assay_scorer.adapters.database import Repository
from assay_scorer.adapters.tables import FullTestRow, FullTestSkillRow, SkillRow, ValidationRow
from assay_scorer.domain.environment import version_label
from assay_scorer.domain.full_tests import AbandonedTest

_VERDICT = FullTestSkillRow.verdict
_COUNTS = {
    "total": func.count(FullTestSkillRow.skill_id),
    "done": func.count(_VERDICT),
    "passed": func.count().filter(_VERDICT == "passed"),
    "failed": func.count().filter(_VERDICT == "failed"),
    "inconclusive": func.count().filter(_VERDICT == "inconclusive"),
    "worse": func.count().filter(FullTestSkillRow.worse),
}


def _summaries() -> Select[tuple[object, ...]]:
    """Full tests, each with what its skills amount to."""
    counted = (
        select(*(count.label(name) for name, count in _COUNTS.items()))
        .where(FullTestSkillRow.full_test_id == FullTestRow.id)
        .lateral()
    )
    return (
        select(*FullTestRow.__table__.c, counted)
        .select_from(FullTestRow)
        .join(counted, FullTestRow.id.is_not(None))
    )


async def full_test_summary(
    connection: AsyncConnection, full_test_id: UUID
) -> FullTestSummary | None:
    rows = await connection.execute(_summaries().where(FullTestRow.id == full_test_id))
    row = rows.one_or_none()
    return None if row is None else FullTestSummary(**_summary(row))


class PostgresFullTestQueries(Repository):
    """Implements `ports.full_tests`: `FullTestQueries` and `AbandonedTests`."""

    async def full_tests(self, query: ListFullTests) -> FullTestPage:
        page = (
            _summaries()
            .order_by(FullTestRow.started_at.desc(), FullTestRow.id)
            .offset((query.page - 1) * query.size)
            .limit(query.size)
        )
        async with self._reading() as connection:
            total = await connection.scalar(select(func.count()).select_from(FullTestRow))
            rows = (await connection.execute(page)).all()
        return FullTestPage(
            full_tests=tuple(FullTestSummary(**_summary(row)) for row in rows),
            total=total or 0,
            page=query.page,
            size=query.size,
        )

    async def full_test(self, full_test_id: UUID) -> FullTestView | None:
        statement = (
            select(
                FullTestSkillRow.skill_id,
                FullTestSkillRow.skill_name,
                FullTestSkillRow.validation_id,
                FullTestSkillRow.result,
                ValidationRow.step,
                ValidationRow.tasks_total.label("tasks"),
            )
            .join(ValidationRow, ValidationRow.id == FullTestSkillRow.validation_id, isouter=True)
            .where(FullTestSkillRow.full_test_id == full_test_id)
            .order_by(FullTestSkillRow.skill_name)
        )
        async with self._reading() as connection:
            summary = await full_test_summary(connection, full_test_id)
            if summary is None:
                return None
            rows = (await connection.execute(statement)).all()
        skills = (
            FullTestSkill.model_validate(
                row if row.result is None else row.result, from_attributes=True
            )
            for row in rows
        )
        return FullTestView(**dict(summary), skills=tuple(skills))

    async def abandoned_tests(self) -> Sequence[AbandonedTest]:
        statement = (
            select(FullTestSkillRow.validation_id, FullTestRow.cancelled_by)
            .join(FullTestRow, FullTestRow.id == FullTestSkillRow.full_test_id)
            .join(SkillRow, SkillRow.id == FullTestSkillRow.skill_id)
            .where(
                FullTestRow.under_way,
                FullTestSkillRow.completed_at.is_(None),
                (FullTestRow.status == "cancelled") | (SkillRow.status != "approved"),
            )
            .order_by(FullTestSkillRow.skill_name)
        )
        async with self._reading() as connection:
            rows = (await connection.execute(statement)).all()
        return [AbandonedTest.model_validate(row, from_attributes=True) for row in rows]


_LAST = (
    select(
        FullTestSkillRow.full_test_id.label("last_full_test_id"),
        FullTestSkillRow.completed_at.label("last_full_test_at"),
        FullTestSkillRow.result.label("full_test_results"),
    )
    .where(
        FullTestSkillRow.skill_id == bindparam("skill_id"),
        FullTestSkillRow.completed_at.is_not(None),
    )
    .order_by(FullTestSkillRow.completed_at.desc())
    .limit(1)
)


async def last_full_test(connection: AsyncConnection, skill_id: UUID) -> dict[str, object]:
    """The fields of a skill's detail that tell of its last full test."""
    row = (await connection.execute(_LAST, {"skill_id": skill_id})).mappings().one_or_none()
    return {**row} if row is not None else {}


def _summary(row: Row[tuple[object, ...]]) -> dict[str, object]:
    return {
        "full_test_id": row.id,
        "status": row.status,
        "started_by": row.started_by,
        "runtime_version": version_label(row.runtime_version),
        "started_at": row.started_at,
        "completed_at": row.completed_at,
        "counts": FullTestCounts(**{name: getattr(row, name) for name in _COUNTS}),
    }
