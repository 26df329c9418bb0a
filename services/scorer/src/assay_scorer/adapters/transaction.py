"""One unit of work on the records in PostgreSQL.

Statements that every upload and every step take are built once: building them costs more than
running them.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import Integer, Table, bindparam, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from assay_contracts.base import Message
from assay_contracts.skills import SkillStatus
from assay_scorer.adapters.review_transaction import ReviewTransaction
from assay_scorer.adapters.tables import Base, OutboxRow, SkillRow, ValidationRow
from assay_scorer.domain.conductor import Decision, Outgoing
from assay_scorer.domain.validation import Validation
from assay_servicekit.telemetry import current_traceparent

ADMISSION_LOCK = 0x455A
"""Key of the advisory lock that makes admission one at a time."""


def table_of(row: type[Base]) -> Table:
    table = row.__table__
    assert isinstance(table, Table)
    return table


_SKILLS = table_of(SkillRow)
_VALIDATIONS = table_of(ValidationRow)


_ADMIT_ALONE = select(func.pg_advisory_xact_lock(ADMISSION_LOCK))
_ACTIVE = select(func.count()).where(ValidationRow.step.not_in(("queued", "done")))
_OLDEST_QUEUED = (
    select(ValidationRow.document)
    .where(ValidationRow.step == "queued")
    .order_by(ValidationRow.queued_at)
    .limit(bindparam("room", type_=Integer))
    .with_for_update()
)
_SAVE = insert(_VALIDATIONS)
_SAVE = _SAVE.on_conflict_do_update(
    index_elements=["id"],
    set_={column.name: _SAVE.excluded[column.name] for column in _VALIDATIONS.c},
)
_SET_STATUS = (
    update(_SKILLS)
    .where(_SKILLS.c.id == bindparam("skill_id"), _SKILLS.c.status != bindparam("new_status"))
    .values(status=bindparam("new_status"))
)
_QUEUE = insert(table_of(OutboxRow)).on_conflict_do_nothing(index_elements=["dedup_key"])


class PostgresTransaction(ReviewTransaction):
    """Implements `ports.Transaction`."""

    def __init__(self, connection: AsyncConnection) -> None:
        super().__init__(connection)

    async def locked(self, validation_id: UUID) -> Validation | None:
        document = await self._connection.scalar(
            select(ValidationRow.document)
            .where(ValidationRow.id == validation_id)
            .with_for_update()
        )
        return Validation.model_validate(document) if document is not None else None

    async def admissible(self, limit: int) -> Sequence[Validation]:
        await self._connection.execute(_ADMIT_ALONE)
        room = limit - (await self._connection.scalar(_ACTIVE) or 0)
        if room <= 0:
            return ()
        documents = await self._connection.scalars(_OLDEST_QUEUED, {"room": room})
        return [Validation.model_validate(document) for document in documents]

    async def store(self, decision: Decision, now: datetime) -> None:
        validation = decision.validation
        await self._connection.execute(_SAVE, validation_row(validation))
        await self.set_status(validation.skill_id, validation.skill_status)
        await self.say(decision.outgoing, now)

    async def set_status(self, skill_id: UUID, status: SkillStatus) -> None:
        await self._connection.execute(_SET_STATUS, {"skill_id": skill_id, "new_status": status})

    async def say(self, outgoing: Sequence[Outgoing], now: datetime) -> None:
        for each in outgoing:
            row = outbox_row(each.message, now, now + each.delay)
            await self._connection.execute(_QUEUE, row)


def validation_row(validation: Validation) -> dict[str, object]:
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
        "detail": validation.reason or validation.step.replace("_", " "),
        "tasks_done": validation.tasks_done,
        "tasks_total": validation.tasks_total,
        "layer1_passed": validation.layer1_passed,
        "layer2_passed": validation.layer2_passed,
        "document": validation.model_dump(mode="json"),
    }


def outbox_row(message: Message, now: datetime, due_at: datetime) -> dict[str, object]:
    return {
        "dedup_key": message.dedup_key(),
        "subject": message.subject(),
        "body": message.model_dump_json(),
        "traceparent": current_traceparent(),
        "created_at": now,
        "due_at": due_at,
    }
