"""One unit of work on the records in PostgreSQL.

Statements that every upload and every step take are built once: building them costs more than
running them.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import CTE, Column, Executable, Table, bindparam, func, select, update
from sqlalchemy.dialects.postgresql import Insert, insert
from sqlalchemy.ext.asyncio import AsyncConnection

from assay_contracts.base import Message, Work
from assay_contracts.rpc import (
    Problem,
    ProblemDetails,
    ProblemError,
    RegisterReply,
    RegisterSkill,
)
from assay_contracts.skills import SkillUploaded
from assay_scorer.adapters.tables import Base, OutboxRow, RevisionRow, SkillRow, ValidationRow
from assay_scorer.domain.conductor import Decision
from assay_scorer.domain.validation import Validation
from assay_servicekit.telemetry import current_traceparent

ADMISSION_LOCK = 0x455A
"""Key of the advisory lock that makes admission one at a time."""


def _table(row: type[Base]) -> Table:
    table = row.__table__
    assert isinstance(table, Table)
    return table


_SKILLS = _table(SkillRow)
_VALIDATIONS = _table(ValidationRow)
_OUTBOX = _table(OutboxRow)


def _param(column: Column[Any]) -> str:
    return f"{column.table.name}_{column.name}"


def _params(table: Table, row: dict[str, object]) -> dict[str, object]:
    return {_param(table.c[name]): value for name, value in row.items()}


def _row_for(table: Table, each: CTE) -> Insert:
    """A row of `table`, taken from parameters, for each row of another statement's result."""
    columns = [column for column in table.c if column.identity is None]
    values = [bindparam(_param(column), type_=column.type) for column in columns]
    return insert(table).from_select(columns, select(*values).select_from(each))


def _record(skill: CTE) -> Executable:
    """Record a revision, its validation and the news of it, in one statement, if there is a skill.

    An upload waits for this, and each statement of its own would be a round trip.
    """
    return (
        _row_for(_OUTBOX, skill)
        .add_cte(_row_for(_table(RevisionRow), skill).cte("revision"))
        .add_cte(_row_for(_VALIDATIONS, skill).cte("validation"))
        .returning(_OUTBOX.c.id)
    )


_RECORD_FIRST = _record(
    insert(_SKILLS)
    .values({column: bindparam(_param(column), type_=column.type) for column in _SKILLS.c})
    .on_conflict_do_nothing(index_elements=["name"])
    .returning(_SKILLS.c.id)
    .cte("skill")
)
_RECORD_NEXT = _record(
    update(_SKILLS)
    .where(_SKILLS.c.id == bindparam(_param(_SKILLS.c.id), type_=_SKILLS.c.id.type))
    .values(status=bindparam(_param(_SKILLS.c.status), type_=_SKILLS.c.status.type))
    .returning(_SKILLS.c.id)
    .cte("skill")
)
_SAVE = insert(_VALIDATIONS)
_SAVE = _SAVE.on_conflict_do_update(
    index_elements=["id"],
    set_={
        **{column.name: _SAVE.excluded[column.name] for column in _VALIDATIONS.c},
        # What asked for the current step last stays known until something asks anew.
        "work_key": func.coalesce(_SAVE.excluded.work_key, _VALIDATIONS.c.work_key),
    },
)
_SET_STATUS = (
    update(_SKILLS)
    .where(_SKILLS.c.id == bindparam("skill_id"), _SKILLS.c.status != bindparam("new_status"))
    .values(status=bindparam("new_status"))
)
_QUEUE = insert(_OUTBOX).on_conflict_do_nothing(index_elements=["dedup_key"])


class PostgresTransaction:
    """Implements `ports.Transaction`."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def register(self, upload: RegisterSkill, now: datetime) -> RegisterReply:
        validation = _queued(upload, uuid4(), 1, now)
        if await self._record(_RECORD_FIRST, upload, validation):
            return _registered(validation, None)
        # There is a skill of this name, by now at least: the insert above waited for its commit.
        skill_id, status = await self._held(upload.manifest.name)
        if (before := await self._found(upload.upload_id)) is not None:
            return before
        newest, same_as = await self._revisions(skill_id, upload.bundle.sha256)
        if status != "rejected":
            raise _taken(upload.manifest.name, skill_id, status, same_as)
        validation = _queued(upload, skill_id, newest + 1, now)
        await self._record(_RECORD_NEXT, upload, validation)
        return _registered(validation, same_as)

    async def locked(self, validation_id: UUID) -> Validation | None:
        document = await self._connection.scalar(
            select(ValidationRow.document)
            .where(ValidationRow.id == validation_id)
            .with_for_update()
        )
        return Validation.model_validate(document) if document is not None else None

    async def admissible(self, limit: int) -> Sequence[Validation]:
        await self._connection.execute(select(func.pg_advisory_xact_lock(ADMISSION_LOCK)))
        active = await self._connection.scalar(
            select(func.count()).where(ValidationRow.step.not_in(("queued", "done")))
        )
        documents = await self._connection.scalars(
            select(ValidationRow.document)
            .where(ValidationRow.step == "queued")
            .order_by(ValidationRow.queued_at)
            .limit(max(0, limit - (active or 0)))
            .with_for_update()
        )
        return [Validation.model_validate(document) for document in documents]

    async def store(self, decision: Decision, now: datetime) -> None:
        validation = decision.validation
        asked = [
            outgoing.message.dedup_key()
            for outgoing in decision.outgoing
            if isinstance(outgoing.message, Work) and outgoing.message.step_id == validation.step_id
        ]
        await self._save(validation, asked[0] if asked else None)
        await self._set_status(validation)
        for outgoing in decision.outgoing:
            await self._queue(outgoing.message, now, now + outgoing.delay)

    async def _record(
        self, statement: Executable, upload: RegisterSkill, validation: Validation
    ) -> bool:
        uploaded = SkillUploaded(
            skill_id=validation.skill_id,
            revision=validation.revision,
            bundle=upload.bundle,
            manifest=upload.manifest,
            findings=upload.findings,
        )
        now = validation.queued_at
        skill = {
            "id": validation.skill_id,
            "name": validation.skill_name,
            "status": validation.skill_status,
            "created_at": now,
        }
        revision = {
            "skill_id": validation.skill_id,
            "number": validation.revision,
            "upload_id": upload.upload_id,
            "uploaded_by": upload.uploaded_by,
            "bundle": upload.bundle.model_dump(mode="json"),
            "manifest": upload.manifest.model_dump(mode="json"),
            "findings": [finding.model_dump(mode="json") for finding in upload.findings],
            "created_at": now,
        }
        said = {**_outbox_row(uploaded, now, now), "published_at": None, "sequence": None}
        recorded = await self._connection.scalar(
            statement,
            {
                **_params(_SKILLS, skill),
                **_params(_table(RevisionRow), revision),
                **_params(_VALIDATIONS, _validation_row(validation, None)),
                **_params(_OUTBOX, said),
            },
        )
        return recorded is not None

    async def _save(self, validation: Validation, work_key: str | None) -> None:
        await self._connection.execute(_SAVE, _validation_row(validation, work_key))

    async def _set_status(self, validation: Validation) -> None:
        await self._connection.execute(
            _SET_STATUS,
            {"skill_id": validation.skill_id, "new_status": validation.skill_status},
        )

    async def _queue(self, message: Message, now: datetime, due_at: datetime) -> None:
        await self._connection.execute(_QUEUE, _outbox_row(message, now, due_at))

    async def _found(self, upload_id: UUID) -> RegisterReply | None:
        row = (
            await self._connection.execute(
                select(
                    RevisionRow.skill_id,
                    RevisionRow.number.label("revision"),
                    SkillRow.status,
                    ValidationRow.id.label("validation_id"),
                )
                .join(SkillRow, SkillRow.id == RevisionRow.skill_id)
                .join(
                    ValidationRow,
                    (ValidationRow.skill_id == RevisionRow.skill_id)
                    & (ValidationRow.revision == RevisionRow.number),
                )
                .where(RevisionRow.upload_id == upload_id)
                .order_by(ValidationRow.queued_at)
                .limit(1)
            )
        ).one_or_none()
        if row is None:
            return None
        return RegisterReply.model_validate(row, from_attributes=True)

    async def _held(self, name: str) -> tuple[UUID, str]:
        """The id and status of the skill of this name, which is locked."""
        row = await self._connection.execute(
            select(SkillRow.id, SkillRow.status).where(SkillRow.name == name).with_for_update()
        )
        skill_id, status = row.one()
        return skill_id, status

    async def _revisions(self, skill_id: UUID, sha256: str) -> tuple[int, int | None]:
        """The newest revision of a skill, and the newest with this content."""
        same = RevisionRow.bundle["sha256"].astext == sha256
        row = await self._connection.execute(
            select(func.max(RevisionRow.number), func.max(RevisionRow.number).filter(same)).where(
                RevisionRow.skill_id == skill_id
            )
        )
        newest, same_as = row.one()
        return newest or 0, same_as


def _queued(upload: RegisterSkill, skill_id: UUID, revision: int, now: datetime) -> Validation:
    return Validation(
        validation_id=uuid4(),
        skill_id=skill_id,
        skill_name=upload.manifest.name,
        revision=revision,
        kind="initial",
        bundle=upload.bundle,
        manifest=upload.manifest,
        findings=upload.findings,
        queued_at=now,
    )


def _registered(validation: Validation, same_as: int | None) -> RegisterReply:
    return RegisterReply(
        skill_id=validation.skill_id,
        revision=validation.revision,
        status=validation.skill_status,
        validation_id=validation.validation_id,
        same_as_revision=same_as,
    )


def _validation_row(validation: Validation, work_key: str | None) -> dict[str, object]:
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
        "tasks_done": 0,
        "tasks_total": len(validation.tasks),
        "work_key": work_key,
        "document": validation.model_dump(mode="json"),
    }


def _outbox_row(message: Message, now: datetime, due_at: datetime) -> dict[str, object]:
    return {
        "dedup_key": message.dedup_key(),
        "subject": message.subject(),
        "body": message.model_dump_json(),
        "traceparent": current_traceparent(),
        "created_at": now,
        "due_at": due_at,
    }


def _taken(name: str, skill_id: UUID, status: str, same_as: int | None) -> ProblemError:
    message = (
        f"A skill named '{name}' already exists and is {status}. "
        "Delete it, wait until it is rejected, or upload under another name."
        if same_as is None
        else f"This very content is already there: it is revision {same_as} of the skill '{name}', "
        f"which is {status}. There is nothing to upload."
    )
    return ProblemError(
        Problem(
            code="SKILL_ALREADY_EXISTS",
            message=message,
            details=ProblemDetails(skill_id=skill_id, same_as_revision=same_as),
        )
    )
