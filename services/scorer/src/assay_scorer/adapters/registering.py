"""Takes an upload into the records in PostgreSQL: a new skill, or the next revision of one."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self
from uuid import UUID, uuid4

from sqlalchemy import CTE, Column, Executable, Table, bindparam, func, select, update
from sqlalchemy.dialects.postgresql import Insert, insert
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from assay_contracts.rpc import (
    Problem,
    ProblemDetails,
    ProblemError,
    RegisterReply,
    RegisterSkill,
)
from assay_contracts.skills import SkillUploaded
from assay_scorer.adapters.review_transaction import audit_row
from assay_scorer.adapters.tables import (
    AuditRow,
    OutboxRow,
    RevisionRow,
    SkillRow,
    ValidationRow,
)
from assay_scorer.adapters.transaction import outbox_row, table_of, validation_row
from assay_scorer.domain.validation import Validation
from assay_servicekit.telemetry import current_traceparent

_SKILLS = table_of(SkillRow)
_REVISIONS = table_of(RevisionRow)
_VALIDATIONS = table_of(ValidationRow)
_OUTBOX = table_of(OutboxRow)
_AUDIT = table_of(AuditRow)


def _param(column: Column[Any]) -> str:
    return f"{column.table.name}_{column.name}"


def _params(table: Table, row: dict[str, object]) -> dict[str, object]:
    return {_param(table.c[name]): value for name, value in row.items()}


def _row_for(table: Table, each: CTE) -> Insert:
    """A row of `table`, taken from parameters, for each row of another statement's result."""
    columns = [column for column in table.c if column.identity is None]
    values = [bindparam(_param(column), type_=column.type) for column in columns]
    return insert(table).from_select(columns, select(*values).select_from(each))


@dataclass(frozen=True, slots=True)
class _Record:
    """Records a revision, its validation and the news of it, in one statement, if there is a skill.

    An upload waits for this, and each statement of its own would be a round trip.
    """

    validated: Executable
    unvalidated: Executable

    @classmethod
    def of(cls, skill: CTE) -> Self:
        unvalidated = (
            _row_for(_OUTBOX, skill)
            .add_cte(_row_for(_REVISIONS, skill).cte("revision"))
            .add_cte(_row_for(_AUDIT, skill).cte("audit"))
            .returning(_OUTBOX.c.id)
        )
        validation = _row_for(_VALIDATIONS, skill).cte("validation")
        return cls(validated=unvalidated.add_cte(validation), unvalidated=unvalidated)


_RECORD_FIRST = _Record.of(
    insert(_SKILLS)
    .values({column: bindparam(_param(column), type_=column.type) for column in _SKILLS.c})
    .on_conflict_do_nothing(index_elements=["name"])
    .returning(_SKILLS.c.id)
    .cte("skill")
)
_RECORD_NEXT = _Record.of(
    update(_SKILLS)
    .where(_SKILLS.c.id == bindparam(_param(_SKILLS.c.id), type_=_SKILLS.c.id.type))
    .values(
        {
            column: bindparam(_param(column), type_=column.type)
            for column in (_SKILLS.c.status, _SKILLS.c.stage)
        }
    )
    .returning(_SKILLS.c.id)
    .cte("skill")
)


async def register(engine: AsyncEngine, upload: RegisterSkill, now: datetime) -> RegisterReply:
    """See `ports.Records`. Raises whatever the database does."""
    validation = _queued(upload, uuid4(), 1, now)
    # A single statement is a transaction: it needs no round trips to begin and to end one.
    async with engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        if await _recorded(connection, _RECORD_FIRST, upload, validation):
            return _reply(upload, validation, None)
    # There is a skill of this name: had it been about to appear, the insert would have waited.
    async with engine.begin() as connection:
        held = await _held(connection, upload.manifest.name)
        if held is None:
            # Deleted a moment ago: the name is free.
            return await register(engine, upload, now)
        skill_id, status = held
        if (before := await _found(connection, upload.upload_id)) is not None:
            return before
        newest, same_as = await _revisions(connection, skill_id, upload.bundle.sha256)
        if status != "rejected":
            raise _taken(upload.manifest.name, skill_id, status, same_as)
        validation = _queued(upload, skill_id, newest + 1, now)
        await _recorded(connection, _RECORD_NEXT, upload, validation)
        return _reply(upload, validation, same_as)


async def _recorded(
    connection: AsyncConnection,
    record: _Record,
    upload: RegisterSkill,
    validation: Validation,
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
        "stage": validation.stage if upload.start_validation else None,
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
    said = {**outbox_row(uploaded, now, now), "published_at": None, "sequence": None}
    audit = audit_row(
        "uploaded",
        upload.uploaded_by,
        now,
        skill=(validation.skill_id, validation.skill_name),
        details={"revision": str(validation.revision), "sha256": upload.bundle.sha256},
    )
    rows = {
        **_params(_SKILLS, skill),
        **_params(_REVISIONS, revision),
        **_params(_AUDIT, audit),
        **_params(_OUTBOX, said),
    }
    if upload.start_validation:
        rows |= _params(_VALIDATIONS, validation_row(validation, None))
        return await connection.scalar(record.validated, rows) is not None
    return await connection.scalar(record.unvalidated, rows) is not None


async def _found(connection: AsyncConnection, upload_id: UUID) -> RegisterReply | None:
    row = (
        await connection.execute(
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
                isouter=True,
            )
            .where(RevisionRow.upload_id == upload_id)
            .order_by(ValidationRow.queued_at)
            .limit(1)
        )
    ).one_or_none()
    if row is None:
        return None
    return RegisterReply.model_validate(row, from_attributes=True)


async def _held(connection: AsyncConnection, name: str) -> tuple[UUID, str] | None:
    """The id and status of the skill of this name, which is locked."""
    rows = await connection.execute(
        select(SkillRow.id, SkillRow.status).where(SkillRow.name == name).with_for_update()
    )
    row = rows.one_or_none()
    return None if row is None else (row.id, row.status)


async def _revisions(
    connection: AsyncConnection, skill_id: UUID, sha256: str
) -> tuple[int, int | None]:
    """The newest revision of a skill, and the newest with this content."""
    same = RevisionRow.bundle["sha256"].astext == sha256
    row = await connection.execute(
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
        traceparent=current_traceparent(),
    )


def _reply(upload: RegisterSkill, validation: Validation, same_as: int | None) -> RegisterReply:
    return RegisterReply(
        skill_id=validation.skill_id,
        revision=validation.revision,
        status=validation.skill_status,
        validation_id=validation.validation_id if upload.start_validation else None,
        same_as_revision=same_as,
    )


def _taken(name: str, skill_id: UUID, status: str, same_as: int | None) -> ProblemError:
    message = (
        f"A skill named '{name}' already exists and is {status}. "
        "Once it is rejected it can be uploaded again; otherwise delete it, or take another name."
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
