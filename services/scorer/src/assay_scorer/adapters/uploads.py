"""Takes an upload into the records in PostgreSQL: a new skill, or the next revision of one."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Self
from uuid import UUID

from sqlalchemy import CTE, Column, Executable, Table, bindparam, func, select, update
from sqlalchemy.dialects.postgresql import Insert, insert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from assay_contracts.rpc import RegisterReply, RegisterSkill
from assay_contracts.skills import SkillUploaded
from assay_scorer.adapters.audit import audit_row
from assay_scorer.adapters.database import Repository, TransactionPart
from assay_scorer.adapters.outbox import outbox_row
from assay_scorer.adapters.tables import (
    AuditRow,
    OutboxRow,
    RevisionRow,
    SkillRow,
    ValidationRow,
    table_of,
)
from assay_scorer.adapters.validations import validation_row
from assay_scorer.domain.uploads import KnownSkill
from assay_scorer.domain.validation import Validation
from assay_scorer.ports.skills import UploadIdTaken

_SKILLS = table_of(SkillRow)
_REVISIONS = table_of(RevisionRow)
_VALIDATIONS = table_of(ValidationRow)
_OUTBOX = table_of(OutboxRow)
_AUDIT = table_of(AuditRow)


def _param(column: Column[object]) -> str:
    return f"{column.table.name}_{column.name}"


def _params(table: Table, row: dict[str, object]) -> dict[str, object]:
    return {_param(table.c[name]): value for name, value in row.items()}


def _row_for(table: Table, each: CTE) -> Insert:
    """A row of `table`, taken from parameters, for each row of another statement's result."""
    columns = [column for column in table.c if column.identity is None]
    values = [bindparam(_param(column), type_=column.type) for column in columns]
    return insert(table).from_select(columns, select(*values).select_from(each))


@dataclass(frozen=True, slots=True)
class _Statements:
    """Record a revision, its validation and the news of it, in one statement, if there is a skill.

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


_RECORD_FIRST = _Statements.of(
    insert(_SKILLS)
    .values({column: bindparam(_param(column), type_=column.type) for column in _SKILLS.c})
    .on_conflict_do_nothing(index_elements=["name"])
    .returning(_SKILLS.c.id)
    .cte("skill")
)
_RECORD_NEXT = _Statements.of(
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


class PostgresUploads(Repository):
    """Implements `ports.skills.UploadRecords`."""

    async def add_skill(self, upload: RegisterSkill, validation: Validation) -> bool:
        with _raising_taken():
            async with self._reading() as connection:
                return await _record(connection, _RECORD_FIRST, upload, validation)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator["PostgresUploadTransaction"]:
        # No idempotency key is taken along: what is recorded is found again by the upload's own id.
        async with self._changing() as connection:
            yield PostgresUploadTransaction(connection, self._environments)


class PostgresUploadTransaction(TransactionPart):
    """Implements `ports.skills.UploadTransaction`."""

    async def lock_skill_named(self, name: str, sha256: str) -> KnownSkill | None:
        held = (
            await self._connection.execute(
                select(SkillRow.id, SkillRow.status).where(SkillRow.name == name).with_for_update()
            )
        ).one_or_none()
        if held is None:
            return None
        same = RevisionRow.bundle["sha256"].astext == sha256
        revisions = await self._connection.execute(
            select(func.max(RevisionRow.number), func.max(RevisionRow.number).filter(same)).where(
                RevisionRow.skill_id == held.id
            )
        )
        newest, same_as = revisions.one()
        return KnownSkill(
            skill_id=held.id,
            name=name,
            status=held.status,
            newest_revision=newest or 0,
            same_as_revision=same_as,
        )

    async def earlier_reply(self, upload_id: UUID) -> RegisterReply | None:
        statement = (
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
        row = (await self._connection.execute(statement)).one_or_none()
        return None if row is None else RegisterReply.model_validate(row, from_attributes=True)

    async def add_revision(self, upload: RegisterSkill, validation: Validation) -> None:
        with _raising_taken():
            await _record(self._connection, _RECORD_NEXT, upload, validation)


@contextmanager
def _raising_taken() -> Iterator[None]:
    try:
        yield
    except IntegrityError as error:
        # Only the upload's own id can be there already.
        raise UploadIdTaken from error


async def _record(
    connection: AsyncConnection,
    statements: _Statements,
    upload: RegisterSkill,
    validation: Validation,
) -> bool:
    """Whether there is a skill for it."""
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
        return await connection.scalar(statements.validated, rows) is not None
    return await connection.scalar(statements.unvalidated, rows) is not None
