"""The records in PostgreSQL."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from uuid import UUID

from sqlalchemy import FromClause, Row, Select, event, func, select, text, update
from sqlalchemy.engine import AdaptedConnection
from sqlalchemy.exc import DBAPIError, DisconnectionError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from assay_contracts.review import AuditEntry, AuditPage, ListAudit
from assay_contracts.rpc import (
    ListSkills,
    ListValidations,
    RegisterReply,
    RegisterSkill,
    SkillDetail,
    SkillPage,
    SkillStatusView,
    SkillSummary,
    ValidationHistory,
    ValidationSummary,
)
from assay_contracts.validations import ReportRef
from assay_scorer.adapters.registering import register
from assay_scorer.adapters.tables import AuditRow, RevisionRow, SkillRow, ValidationRow, VersionRow
from assay_scorer.adapters.transaction import PostgresTransaction
from assay_scorer.domain.progress import fraction_done
from assay_scorer.domain.report import report_ref
from assay_scorer.domain.runtime import Version
from assay_scorer.domain.validation import Validation
from assay_servicekit.bus import Unavailable

COMMAND_TIMEOUT_S = 10
AWAY = ("08", "53", "57P")
"""SQLSTATE classes of a server that is starting, stopping, full or out of reach."""


def open_engine(url: str) -> AsyncEngine:
    """An engine that notices a dead server instead of waiting for it."""
    engine = create_async_engine(
        url,
        pool_size=10,
        max_overflow=10,
        connect_args={"timeout": 5, "command_timeout": COMMAND_TIMEOUT_S},
    )
    event.listen(engine.sync_engine, "checkout", _replace_if_closed)
    return engine


def _replace_if_closed(connection: AdaptedConnection, *_: object) -> None:
    # The driver is told when the server goes; asking it costs no round trips, as a ping would.
    if connection.driver_connection.is_closed():
        raise DisconnectionError


@asynccontextmanager
async def answering() -> AsyncIterator[None]:
    """Turns a database that does not answer into `Unavailable`."""
    try:
        yield
    except (OperationalError, InterfaceError, PoolTimeout, OSError, TimeoutError) as error:
        raise Unavailable(f"the database does not answer ({type(error).__name__})") from error
    except DBAPIError as error:
        state = str(getattr(error.orig, "sqlstate", None) or "")
        if not (error.connection_invalidated or state.startswith(AWAY)):
            raise
        raise Unavailable(f"the database cannot be used now ({error.orig})") from error


class PostgresRecords:
    """Implements `ports.Records`."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator["PostgresTransaction"]:
        async with answering(), self._engine.begin() as connection:
            yield PostgresTransaction(connection)

    async def register(self, upload: RegisterSkill, now: datetime) -> RegisterReply:
        async with answering():
            return await register(self._engine, upload, now)

    async def ping(self) -> None:
        """Raises Unavailable."""
        async with answering(), self._engine.connect() as connection:
            await connection.execute(text("select 1"))

    async def skills(self, query: ListSkills) -> SkillPage:
        newest = _newest_validation()
        where = [
            *([SkillRow.status == query.status] if query.status else []),
            *([newest.c.stage == query.validation_stage] if query.validation_stage else []),
            *([SkillRow.name.contains(query.q.lower(), autoescape=True)] if query.q else []),
        ]
        matching = _skills_with(newest).where(*where)
        page = (
            matching.order_by(SkillRow.created_at.desc(), SkillRow.id)
            .offset((query.page - 1) * query.size)
            .limit(query.size)
        )
        async with answering(), self._engine.connect() as connection:
            total = await connection.scalar(select(func.count()).select_from(matching.subquery()))
            rows = (await connection.execute(page)).all()
        return SkillPage(
            skills=tuple(SkillSummary(**_summary(row)) for row in rows),
            total=total or 0,
            page=query.page,
            size=query.size,
        )

    async def skill(self, skill_id: UUID) -> SkillDetail | None:
        statement = _skills_with(_newest_validation()).where(SkillRow.id == skill_id)
        async with answering(), self._engine.connect() as connection:
            row = (await connection.execute(statement)).one_or_none()
        if row is None:
            return None
        return SkillDetail.model_validate(
            {
                **_summary(row),
                "revision": row.number,
                "bundle_sha256": row.bundle["sha256"],
                "uploaded_by": row.uploaded_by,
                "manifest": row.manifest,
                "findings": row.findings,
                "validation_id": row.validation_id,
                "verdict": row.verdict,
                "reason": row.reason,
                "scores": row.scores,
            }
        )

    async def status(self, skill_id: UUID) -> SkillStatusView | None:
        statement = _skills_with(_newest_validation()).where(SkillRow.id == skill_id)
        async with answering(), self._engine.connect() as connection:
            row = (await connection.execute(statement)).one_or_none()
        if row is None:
            return None
        return SkillStatusView.model_validate(
            {
                "skill_id": row.id,
                "name": row.name,
                "status": row.status,
                "validation_id": row.validation_id,
                "validation_stage": row.stage,
                "step": row.step,
                "detail": row.detail or "",
                "progress": fraction_done(row.step, row.tasks_done or 0, row.tasks_total or 0),
                "tasks_done": row.tasks_done or 0,
                "tasks_total": row.tasks_total or 0,
                "scores": row.scores,
                "verdict": row.verdict,
                "reason": row.reason,
                "started_at": row.started_at,
                "completed_at": row.completed_at,
            }
        )

    async def report(self, skill_id: UUID) -> tuple[UUID, ReportRef] | None:
        statement = (
            select(ValidationRow.document)
            .where(ValidationRow.skill_id == skill_id, ValidationRow.step == "done")
            .order_by(ValidationRow.queued_at.desc())
            .limit(1)
        )
        async with answering(), self._engine.connect() as connection:
            document = await connection.scalar(statement)
        if document is None:
            return None
        validation = Validation.model_validate(document)
        return validation.validation_id, report_ref(validation)

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
        async with answering(), self._engine.connect() as connection:
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

    async def versions(self) -> Sequence[Version]:
        statement = select(*VersionRow.__table__.c).order_by(VersionRow.number.desc())
        async with answering(), self._engine.connect() as connection:
            rows = (await connection.execute(statement)).all()
        return [Version.model_validate(row, from_attributes=True) for row in rows]

    async def audit(self, query: ListAudit) -> AuditPage:
        where = [AuditRow.skill_id == query.skill_id] if query.skill_id else []
        page = (
            select(*AuditRow.__table__.c)
            .where(*where)
            .order_by(AuditRow.number.desc())
            .offset((query.page - 1) * query.size)
            .limit(query.size)
        )
        async with answering(), self._engine.connect() as connection:
            total = await connection.scalar(
                select(func.count()).select_from(AuditRow).where(*where)
            )
            rows = (await connection.execute(page)).all()
        return AuditPage(
            entries=tuple(AuditEntry.model_validate(row, from_attributes=True) for row in rows),
            total=total or 0,
            page=query.page,
            size=query.size,
        )

    async def note_progress(self, validation_id: UUID, detail: str, done: int, total: int) -> None:
        statement = (
            update(ValidationRow)
            .where(ValidationRow.id == validation_id, ValidationRow.step != "done")
            .values(detail=detail, tasks_done=done, tasks_total=total)
        )
        async with answering(), self._engine.begin() as connection:
            await connection.execute(statement)


def _newest_validation() -> FromClause:
    """The newest validation of each skill, looked up by index for the skills at hand."""
    return (
        select(
            ValidationRow.id.label("validation_id"),
            ValidationRow.stage,
            ValidationRow.step,
            ValidationRow.verdict,
            ValidationRow.overall,
            ValidationRow.layer1_passed,
            ValidationRow.layer2_passed,
            ValidationRow.detail,
            ValidationRow.tasks_done,
            ValidationRow.tasks_total,
            ValidationRow.started_at,
            ValidationRow.completed_at,
            ValidationRow.document["scores"].label("scores"),
            ValidationRow.document["reason"].astext.label("reason"),
        )
        .where(ValidationRow.skill_id == SkillRow.id)
        .order_by(ValidationRow.queued_at.desc())
        .limit(1)
        .lateral()
    )


def _skills_with(newest: FromClause) -> Select[tuple[object, ...]]:
    latest = (
        select(
            RevisionRow.number,
            RevisionRow.bundle,
            RevisionRow.uploaded_by,
            RevisionRow.manifest,
            RevisionRow.findings,
        )
        .where(RevisionRow.skill_id == SkillRow.id)
        .order_by(RevisionRow.number.desc())
        .limit(1)
        .lateral()
    )
    return (
        select(SkillRow.id, SkillRow.name, SkillRow.status, SkillRow.created_at, latest, newest)
        .select_from(SkillRow)
        .join(latest, text("true"))
        .join(newest, text("true"), isouter=True)
    )


def _summary(row: Row[tuple[object, ...]]) -> dict[str, object]:
    return {
        "skill_id": row.id,
        "name": row.name,
        "description": row.manifest["description"],
        "status": row.status,
        "validation_stage": row.stage,
        "validation_score": row.overall,
        "layer1_passed": row.layer1_passed,
        "layer2_passed": row.layer2_passed,
        "created_at": row.created_at,
        "validated_at": row.completed_at,
    }
