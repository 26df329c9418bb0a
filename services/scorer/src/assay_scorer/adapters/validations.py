"""Validations in PostgreSQL.

Statements that every upload and every step take are built once: building them costs more than
running them.
"""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import Integer, bindparam, func, select, update
from sqlalchemy.dialects.postgresql import insert

from assay_contracts.rpc import ListValidations, ValidationHistory, ValidationSummary
from assay_scorer.adapters.database import Repository
from assay_scorer.adapters.environments import STORED, Stored, as_document
from assay_scorer.adapters.nul_characters import without_nul
from assay_scorer.adapters.outbox import PostgresOutboxChanges
from assay_scorer.adapters.tables import (
    FullTestRow,
    FullTestSkillRow,
    SkillRow,
    ValidationRow,
    table_of,
)
from assay_scorer.domain.admission import UnderWay
from assay_scorer.domain.decisions import Decision
from assay_scorer.domain.validation import Validation

BATCH: Final = 100
ADMISSION_LOCK: Final = 0x455A
"""Key of the advisory lock that makes admission one at a time."""

_SKILLS: Final = table_of(SkillRow)
_VALIDATIONS: Final = table_of(ValidationRow)

_LOCKED: Final = STORED.where(ValidationRow.id == bindparam("validation_id")).with_for_update()
_ADMIT_ALONE: Final = select(func.pg_advisory_xact_lock(ADMISSION_LOCK))
_UNDER_WAY: Final = select(
    func.count().filter(ValidationRow.kind != "full_test").label("validations"),
    func.count().filter(ValidationRow.kind == "full_test").label("full_test_skills"),
).where(ValidationRow.step.not_in(("queued", "done")))
_OLDEST_QUEUED: Final = (
    STORED.where(ValidationRow.step == "queued", ValidationRow.kind != "full_test")
    .order_by(ValidationRow.queued_at)
    .limit(bindparam("room", type_=Integer))
    # One that somebody holds is about to be cancelled; waiting for it could be for ever.
    .with_for_update(skip_locked=True)
)
_QUEUED_TESTS: Final = (
    STORED.join(FullTestSkillRow, FullTestSkillRow.validation_id == ValidationRow.id)
    .join(FullTestRow, FullTestRow.id == FullTestSkillRow.full_test_id)
    .join(SkillRow, SkillRow.id == ValidationRow.skill_id)
    .where(
        ValidationRow.step == "queued",
        ValidationRow.kind == "full_test",
        FullTestRow.status == "running",
        SkillRow.status == "approved",
    )
    .order_by(FullTestSkillRow.skill_name)
    .limit(bindparam("room", type_=Integer))
    .with_for_update(of=ValidationRow, skip_locked=True)
)
_INSERT = insert(_VALIDATIONS)
SAVE_VALIDATION: Final = _INSERT.on_conflict_do_update(
    index_elements=["id"],
    set_={column.name: _INSERT.excluded[column.name] for column in _VALIDATIONS.c},
)
_SET_STAGE: Final = (
    update(_SKILLS)
    .where(
        _SKILLS.c.id == bindparam("skill_id"),
        (_SKILLS.c.status != bindparam("new_status"))
        | _SKILLS.c.stage.is_distinct_from(bindparam("new_stage")),
    )
    .values(status=bindparam("new_status"), stage=bindparam("new_stage"))
)


class PostgresValidationQueries(Repository):
    """Implements `ports.validations`: `ValidationQueries`, `OpenValidations`, `ProgressNotes`."""

    async def validations(self, query: ListValidations) -> ValidationHistory:
        mine = ValidationRow.skill_id == query.skill_id
        page = (
            select(
                ValidationRow.id.label("validation_id"),
                ValidationRow.revision,
                ValidationRow.kind,
                ValidationRow.stage.label("validation_stage"),
                ValidationRow.verdict,
                ValidationRow.document["reason"].astext.label("reason"),
                ValidationRow.document["scores"].label("scores"),
                ValidationRow.layer1_passed,
                ValidationRow.layer2_passed,
                ValidationRow.queued_at,
                ValidationRow.started_at,
                ValidationRow.completed_at,
            )
            .where(mine)
            .order_by(ValidationRow.queued_at.desc())
            .offset((query.page - 1) * query.size)
            .limit(query.size)
        )
        async with self._reading() as connection:
            total = await connection.scalar(select(func.count()).where(mine))
            rows = (await connection.execute(page)).all()
        return ValidationHistory(
            validations=tuple(
                ValidationSummary.model_validate(row, from_attributes=True) for row in rows
            ),
            total=total or 0,
            page=query.page,
            size=query.size,
        )

    async def ended_validation(
        self, skill_id: UUID, validation_id: UUID | None = None
    ) -> UUID | None:
        which = (
            ValidationRow.id == validation_id
            if validation_id
            else ValidationRow.kind != "full_test"
        )
        statement = (
            select(ValidationRow.id)
            .where(ValidationRow.skill_id == skill_id, ValidationRow.step == "done", which)
            .order_by(ValidationRow.queued_at.desc())
            .limit(1)
        )
        async with self._reading() as connection:
            found: UUID | None = await connection.scalar(statement)
        return found

    async def deadlines(self) -> Sequence[tuple[UUID, datetime | None]]:
        statement = select(ValidationRow.id, ValidationRow.deadline).where(
            ValidationRow.step.not_in(("queued", "done"))
        )
        async with self._reading() as connection:
            return [(row.id, row.deadline) for row in await connection.execute(statement)]

    async def validation(self, validation_id: UUID) -> Validation | None:
        stored = STORED.where(ValidationRow.id == validation_id)
        async with self._reading() as connection:
            return await self._environments.one(connection, stored)

    async def ended_validations(self) -> AsyncIterator[Validation]:
        """Every validation that has ended, a batch in memory at a time."""
        after = UUID(int=0)
        while True:
            batch = (
                STORED.where(ValidationRow.step == "done", ValidationRow.id > after)
                .order_by(ValidationRow.id)
                .limit(BATCH)
            )
            async with self._reading() as connection:
                found = [each async for each in self._environments.each(connection, batch)]
            for validation in found:
                yield validation
            if len(found) < BATCH:
                return
            after = found[-1].validation_id

    async def note_progress(self, validation_id: UUID, detail: str, done: int, total: int) -> None:
        statement = (
            update(ValidationRow)
            .where(ValidationRow.id == validation_id, ValidationRow.step != "done")
            .values(detail=without_nul(detail), tasks_done=done, tasks_total=total)
        )
        async with self._changing() as connection:
            await connection.execute(statement)


class PostgresValidationChanges(PostgresOutboxChanges):
    """Implements `ports.validations.ValidationChanges`."""

    async def lock_validation(self, validation_id: UUID) -> Validation | None:
        return await self._environments.one(
            self._connection, _LOCKED.params({"validation_id": validation_id})
        )

    async def lock_admission(self) -> UnderWay:
        await self._connection.execute(_ADMIT_ALONE)
        found = (await self._connection.execute(_UNDER_WAY)).one()
        return UnderWay(validations=found.validations, full_test_skills=found.full_test_skills)

    async def lock_queued(self, room: int) -> Sequence[Validation]:
        return await self._lock(_OLDEST_QUEUED, room)

    async def lock_queued_tests(self, room: int) -> Sequence[Validation]:
        return await self._lock(_QUEUED_TESTS, room)

    async def _lock(self, queue: Stored, room: int) -> Sequence[Validation]:
        if room == 0:
            return ()
        oldest = queue.params({"room": room})
        return [each async for each in self._environments.each(self._connection, oldest)]

    async def save_decision(self, decision: Decision, now: datetime) -> None:
        validation = decision.validation
        environment_id = await self._environments.id_of(
            self._connection, validation.environment, now
        )
        row = validation_row(validation, environment_id)
        await self._connection.execute(SAVE_VALIDATION, row)
        if not validation.is_full_test:
            await self._connection.execute(
                _SET_STAGE,
                {
                    "skill_id": validation.skill_id,
                    "new_status": validation.skill_status,
                    "new_stage": validation.stage,
                },
            )
        await self.add_to_outbox(decision.outgoing, now)


def validation_row(validation: Validation, environment_id: str | None) -> dict[str, object]:
    return {
        "id": validation.validation_id,
        "skill_id": validation.skill_id,
        "revision": validation.revision,
        "kind": validation.kind,
        "step": validation.step,
        "stage": validation.stage,
        "verdict": validation.verdict,
        "overall": validation.scores.overall if validation.scores else None,
        "queued_at": validation.queued_at,
        "started_at": validation.started_at,
        "deadline": validation.deadline,
        "completed_at": validation.completed_at,
        "detail": without_nul(validation.reason or validation.step.replace("_", " ")),
        "tasks_done": validation.tasks_done,
        "tasks_total": validation.tasks_total,
        "layer1_passed": validation.layer1_passed,
        "layer2_passed": validation.layer2_passed,
        "environment_id": environment_id,
        "document": as_document(validation),
    }
