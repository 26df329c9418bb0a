"""Full tests within a transaction in PostgreSQL."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import ColumnElement, or_, select, text, update
from sqlalchemy.dialects.postgresql import insert

from assay_contracts.full_tests import FullTestOutcome, FullTestSummary
from assay_contracts.validations import FullTestSkill
from assay_scorer.adapters.database import TransactionPart
from assay_scorer.adapters.environments import STORED
from assay_scorer.adapters.full_test_queries import full_test_summary
from assay_scorer.adapters.runtime_versions import APPROVED_BY
from assay_scorer.adapters.skills import NEWEST_REVISION, REVISION
from assay_scorer.adapters.tables import (
    FullTestRow,
    FullTestSkillRow,
    RevisionRow,
    SkillRow,
    ValidationRow,
)
from assay_scorer.adapters.validations import SAVE_VALIDATION, validation_row
from assay_scorer.domain.full_tests import SkillToTest
from assay_scorer.domain.revisions import Revision
from assay_scorer.domain.validation import Validation

_OUTCOMES: Final = select(
    FullTestSkillRow.skill_id,
    FullTestSkillRow.skill_name,
    FullTestSkillRow.validation_id,
    FullTestSkillRow.verdict,
    FullTestSkillRow.result["scores"]["overall"].as_float().label("overall"),
    FullTestSkillRow.worse,
).order_by(FullTestSkillRow.skill_name)


class PostgresFullTestChanges(TransactionPart):
    """Implements `ports.full_tests`: `FullTestStart`, `FullTestEnd`, `FullTestUnderWay`.

    A skill is locked before its part in a full test, and that before the full test itself.
    """

    async def lock_approved_skills(self) -> Sequence[SkillToTest]:
        statement = (
            select(*REVISION, _last_verdict().label("compared_with"))
            .select_from(SkillRow)
            .join(
                RevisionRow,
                (RevisionRow.skill_id == SkillRow.id) & (RevisionRow.number == NEWEST_REVISION),
            )
            .where(SkillRow.status == "approved")
            .order_by(SkillRow.name)
            .with_for_update(of=SkillRow)
        )
        rows = (await self._connection.execute(statement)).all()
        return [
            SkillToTest(
                revision=Revision.model_validate(row, from_attributes=True),
                compared_with=row.compared_with,
            )
            for row in rows
        ]

    async def open_full_test(self, full_test: FullTestSummary, runtime_version: int) -> UUID | None:
        opening = (
            insert(FullTestRow)
            .values(
                id=full_test.full_test_id,
                status=full_test.status,
                started_by=full_test.started_by,
                started_at=full_test.started_at,
                runtime_version=runtime_version,
                under_way=True,
            )
            .on_conflict_do_nothing(index_elements=["under_way"], index_where=text("under_way"))
            .returning(FullTestRow.id)
        )
        while True:
            if await self._connection.scalar(opening) is not None:
                return None
            other: UUID | None = await self._connection.scalar(
                select(FullTestRow.id).where(FullTestRow.under_way)
            )
            if other is not None:
                return other
            # The one that stood in the way has just ended.

    async def queue_tests(self, validations: Sequence[Validation], now: datetime) -> None:
        if not validations:
            return
        # They share one environment, which is large: it is looked up once.
        environment_id = await self._environments.id_of(
            self._connection, validations[0].environment, now
        )
        rows = [validation_row(validation, environment_id) for validation in validations]
        await self._connection.execute(SAVE_VALIDATION, rows)
        parts = [
            {
                "full_test_id": validation.full_test_id,
                "skill_id": validation.skill_id,
                "skill_name": validation.skill_name,
                "validation_id": validation.validation_id,
                "worse": False,
            }
            for validation in validations
        ]
        await self._connection.execute(insert(FullTestSkillRow), parts)

    async def lock_full_test(self, full_test_id: UUID) -> FullTestSummary | None:
        held = select(FullTestRow.id).where(FullTestRow.id == full_test_id).with_for_update()
        if await self._connection.scalar(held) is None:
            return None
        # Counted by a statement of its own: it sees what others did until they let go.
        return await full_test_summary(self._connection, full_test_id)

    async def save_full_test(
        self, full_test: FullTestSummary, *, cancelled_by: str | None = None
    ) -> None:
        changed: dict[str, object] = {
            "status": full_test.status,
            "completed_at": full_test.completed_at,
            "under_way": full_test.completed_at is None,
        }
        if cancelled_by is not None:
            changed["cancelled_by"] = cancelled_by
        await self._connection.execute(
            update(FullTestRow).where(FullTestRow.id == full_test.full_test_id).values(changed)
        )

    async def save_outcome(self, full_test_id: UUID, tested: FullTestSkill) -> None:
        await self._connection.execute(
            update(FullTestSkillRow)
            .where(
                FullTestSkillRow.full_test_id == full_test_id,
                FullTestSkillRow.skill_id == tested.skill_id,
            )
            .values(
                verdict=tested.verdict,
                worse=tested.worse,
                result=tested.model_dump(mode="json"),
                completed_at=tested.completed_at,
            )
        )

    async def outcomes(self, full_test_id: UUID) -> Sequence[FullTestOutcome]:
        statement = _OUTCOMES.where(FullTestSkillRow.full_test_id == full_test_id)
        rows = (await self._connection.execute(statement)).all()
        return [FullTestOutcome.model_validate(row, from_attributes=True) for row in rows]

    async def outcome(self, validation_id: UUID) -> FullTestOutcome | None:
        statement = _OUTCOMES.where(
            FullTestSkillRow.validation_id == validation_id, FullTestSkillRow.verdict.is_not(None)
        )
        row = (await self._connection.execute(statement)).one_or_none()
        return None if row is None else FullTestOutcome.model_validate(row, from_attributes=True)

    async def baseline(self, validation: Validation) -> Validation | None:
        return await self._environments.one(
            self._connection, STORED.where(ValidationRow.id == validation.compared_with)
        )

    async def version_under_test(self) -> int | None:
        number: int | None = await self._connection.scalar(
            select(FullTestRow.runtime_version).where(FullTestRow.under_way)
        )
        return number

    async def open_test(self, skill_id: UUID) -> UUID | None:
        found: UUID | None = await self._connection.scalar(
            select(ValidationRow.id).where(
                ValidationRow.skill_id == skill_id,
                ValidationRow.kind == "full_test",
                ValidationRow.step != "done",
            )
        )
        return found


def _last_verdict() -> ColumnElement[UUID]:
    """The newest validation of the skill that stands for what it was: by then, or by approval."""
    return (
        select(ValidationRow.id)
        .where(
            ValidationRow.skill_id == SkillRow.id,
            ValidationRow.verdict.in_(("passed", "failed")),
            or_(ValidationRow.id == APPROVED_BY, ValidationRow.kind == "full_test"),
        )
        .order_by(ValidationRow.completed_at.desc())
        .limit(1)
        .correlate(SkillRow)
        .scalar_subquery()
    )
