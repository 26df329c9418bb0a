"""One unit of work on the records in PostgreSQL.

Statements that every upload and every step take are built once: building them costs more than
running them.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import get_args
from uuid import UUID

from sqlalchemy import Integer, Table, bindparam, func, select, update
from sqlalchemy.dialects.postgresql import insert

from assay_contracts.base import Lane, Message
from assay_contracts.skills import SkillStatus
from assay_contracts.validations import CleanupRequested
from assay_scorer.adapters.environments import STORED, Stored, as_document
from assay_scorer.adapters.full_test_transaction import FullTestTransaction, queued_in_full_test
from assay_scorer.adapters.storable import storable
from assay_scorer.adapters.tables import Base, OutboxRow, SkillRow, ValidationRow
from assay_scorer.domain.decisions import Decision, Outgoing
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


_LOCKED = STORED.where(ValidationRow.id == bindparam("validation_id")).with_for_update()
_ADMIT_ALONE = select(func.pg_advisory_xact_lock(ADMISSION_LOCK))
_ACTIVE = select(
    func.count().filter(ValidationRow.kind != "full_test").label("reviewed"),
    func.count().filter(ValidationRow.kind == "full_test").label("full_test"),
).where(ValidationRow.step.not_in(("queued", "done")))
_OLDEST_QUEUED = (
    STORED.where(ValidationRow.step == "queued", ValidationRow.kind != "full_test")
    .order_by(ValidationRow.queued_at)
    .limit(bindparam("room", type_=Integer))
    # One that somebody holds is about to be cancelled; waiting for it could be for ever.
    .with_for_update(skip_locked=True)
)
_QUEUED_IN_FULL_TEST = queued_in_full_test(STORED)
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
_SET_STAGE = (
    update(_SKILLS)
    .where(
        _SKILLS.c.id == bindparam("skill_id"),
        (_SKILLS.c.status != bindparam("new_status"))
        | _SKILLS.c.stage.is_distinct_from(bindparam("new_stage")),
    )
    .values(status=bindparam("new_status"), stage=bindparam("new_stage"))
)
_QUEUE = insert(table_of(OutboxRow)).on_conflict_do_nothing(index_elements=["dedup_key"])


class PostgresTransaction(FullTestTransaction):
    """Implements `ports.Transaction`."""

    async def locked(self, validation_id: UUID) -> Validation | None:
        return await self._environments.one(
            self._connection, _LOCKED.params({"validation_id": validation_id})
        )

    async def admissible(self, limit: int, full_test_limit: int) -> Sequence[Validation]:
        await self._connection.execute(_ADMIT_ALONE)
        active = (await self._connection.execute(_ACTIVE)).one()
        return [
            *await self._oldest(_OLDEST_QUEUED, limit - active.reviewed),
            *await self._oldest(_QUEUED_IN_FULL_TEST, full_test_limit - active.full_test),
        ]

    async def _oldest(self, queue: Stored, room: int) -> Sequence[Validation]:
        if room <= 0:
            return ()
        oldest = queue.params({"room": room})
        return [each async for each in self._environments.each(self._connection, oldest)]

    async def queue_tests(self, validations: Sequence[Validation], now: datetime) -> None:
        if not validations:
            return
        # They share one environment, which is large: it is looked up once.
        environment_id = await self._environments.id_of(
            self._connection, validations[0].environment, now
        )
        rows = [validation_row(validation, environment_id) for validation in validations]
        await self._connection.execute(_SAVE, rows)
        await self.enter(validations)

    async def store(self, decision: Decision, now: datetime) -> None:
        validation = decision.validation
        environment_id = await self._environments.id_of(
            self._connection, validation.environment, now
        )
        await self._connection.execute(_SAVE, validation_row(validation, environment_id))
        if not validation.is_full_test:
            await self._connection.execute(
                _SET_STAGE,
                {
                    "skill_id": validation.skill_id,
                    "new_status": validation.skill_status,
                    "new_stage": validation.stage,
                },
            )
        await self.say(decision.outgoing, now)

    async def set_status(self, skill_id: UUID, status: SkillStatus) -> None:
        await self._connection.execute(_SET_STATUS, {"skill_id": skill_id, "new_status": status})

    async def cleanup_asked(self, step_id: str, attempt: int) -> CleanupRequested | None:
        keys = [
            f"{CleanupRequested.subject_in(lane)}:{step_id}:{attempt}" for lane in get_args(Lane)
        ]
        body = await self._connection.scalar(
            select(OutboxRow.body).where(OutboxRow.dedup_key.in_(keys))
        )
        return None if body is None else CleanupRequested.model_validate_json(body)

    async def say(self, outgoing: Sequence[Outgoing], now: datetime) -> None:
        for each in outgoing:
            row = outbox_row(each.message, now, now + each.delay)
            await self._connection.execute(_QUEUE, row)


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
        "detail": storable(validation.reason or validation.step.replace("_", " ")),
        "tasks_done": validation.tasks_done,
        "tasks_total": validation.tasks_total,
        "layer1_passed": validation.layer1_passed,
        "layer2_passed": validation.layer2_passed,
        "environment_id": environment_id,
        "document": as_document(validation),
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
