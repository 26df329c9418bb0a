"""The records in PostgreSQL."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from uuid import UUID

from sqlalchemy import Row, event, func, select, text, update
from sqlalchemy.engine import AdaptedConnection
from sqlalchemy.exc import (
    DBAPIError,
    DisconnectionError,
    IntegrityError,
    InterfaceError,
    OperationalError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from assay_contracts.full_tests import FullTestPage, FullTestView, ListFullTests
from assay_contracts.review import AuditEntry, AuditPage, ListAudit
from assay_contracts.rpc import (
    BundleView,
    ListSkills,
    ListValidations,
    Problem,
    ProblemError,
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
from assay_scorer.adapters.claims import claim_within
from assay_scorer.adapters.environments import Environments
from assay_scorer.adapters.full_test_queries import (
    abandoned,
    full_test_page,
    full_test_view,
    last_full_test,
)
from assay_scorer.adapters.registering import register
from assay_scorer.adapters.skill_statements import SKILL, STATUS, listing, pattern_of
from assay_scorer.adapters.storable import storable, storable_json
from assay_scorer.adapters.tables import AuditRow, RevisionRow, SkillRow, ValidationRow, VersionRow
from assay_scorer.adapters.transaction import PostgresTransaction
from assay_scorer.domain.full_tests import Abandoned
from assay_scorer.domain.progress import fraction_done
from assay_scorer.domain.report import report_ref
from assay_scorer.domain.runtime import Version
from assay_servicekit.bus import Unavailable

COMMAND_TIMEOUT_S = 10
OTHER_UPLOAD = Problem(
    code="INVALID_REQUEST",
    message="This Idempotency-Key was used for another upload. Take a new one for each.",
)
AWAY = ("08", "53", "57P")
"""SQLSTATE classes of a server that is starting, stopping, full or out of reach."""


def open_engine(url: str) -> AsyncEngine:
    """An engine that notices a dead server instead of waiting for it."""
    engine = create_async_engine(
        url,
        pool_size=10,
        max_overflow=10,
        json_serializer=storable_json,
        connect_args={
            "timeout": 5,
            "command_timeout": COMMAND_TIMEOUT_S,
            # The default is for disks with an arm to move, and shuns an index for most of a list.
            "server_settings": {"random_page_cost": "1.1"},
        },
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
        # A statement by itself is a transaction: beginning and ending one are two round trips more.
        self._reading = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._environments = Environments()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator["PostgresTransaction"]:
        async with answering(), self._engine.begin() as connection:
            await claim_within(connection)
            yield PostgresTransaction(connection, self._environments)

    async def register(self, upload: RegisterSkill, now: datetime) -> RegisterReply:
        async with answering():
            try:
                return await register(self._engine, upload, now)
            except IntegrityError as error:
                # Only its own id can be there already: sent at once with one key, as two skills.
                raise ProblemError(OTHER_UPLOAD) from error

    async def ping(self) -> None:
        """Raises Unavailable."""
        async with answering(), self._engine.connect() as connection:
            await connection.execute(text("select 1"))

    async def skills(self, query: ListSkills) -> SkillPage:
        statements = listing(
            by_status=query.status is not None,
            by_stage=query.validation_stage is not None,
            by_part=bool(query.q),
        )
        wanted = {
            **({"status": query.status} if query.status else {}),
            **({"stage": query.validation_stage} if query.validation_stage else {}),
            **({"part": pattern_of(query.q.lower())} if query.q else {}),
        }
        place = {"offset": (query.page - 1) * query.size, "size": query.size}
        async with answering(), self._reading.connect() as connection:
            total = await connection.scalar(statements.count, wanted)
            rows = (await connection.execute(statements.page, {**wanted, **place})).all()
        return SkillPage(
            skills=tuple(SkillSummary(**_summary(row)) for row in rows),
            total=total or 0,
            page=query.page,
            size=query.size,
        )

    async def skill(self, skill_id: UUID) -> SkillDetail | None:
        async with answering(), self._reading.connect() as connection:
            row = (await connection.execute(SKILL, {"skill_id": skill_id})).one_or_none()
            tested = await last_full_test(connection, skill_id)
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
                **tested,
            }
        )

    async def status(self, skill_id: UUID) -> SkillStatusView | None:
        async with answering(), self._reading.connect() as connection:
            row = (await connection.execute(STATUS, {"skill_id": skill_id})).one_or_none()
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

    async def report(
        self, skill_id: UUID, validation_id: UUID | None = None
    ) -> tuple[UUID, ReportRef] | None:
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
        async with answering(), self._reading.connect() as connection:
            found = await connection.scalar(statement)
        if found is None:
            return None
        return found, report_ref(skill_id, found, by_skill=validation_id is None)

    async def bundle(self, skill_id: UUID) -> BundleView | None:
        statement = (
            select(
                SkillRow.id.label("skill_id"),
                SkillRow.name.label("skill_name"),
                RevisionRow.number.label("revision"),
                RevisionRow.bundle,
            )
            .join(RevisionRow, RevisionRow.skill_id == SkillRow.id)
            .where(SkillRow.id == skill_id)
            .order_by(RevisionRow.number.desc())
            .limit(1)
        )
        async with answering(), self._reading.connect() as connection:
            row = (await connection.execute(statement)).one_or_none()
        return None if row is None else BundleView.model_validate(row, from_attributes=True)

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
        async with answering(), self._reading.connect() as connection:
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
        async with answering(), self._reading.connect() as connection:
            rows = (await connection.execute(statement)).all()
        return [Version.model_validate(row, from_attributes=True) for row in rows]

    async def full_test(self, full_test_id: UUID) -> FullTestView | None:
        async with answering(), self._engine.connect() as connection:
            return await full_test_view(connection, full_test_id)

    async def full_tests(self, query: ListFullTests) -> FullTestPage:
        async with answering(), self._engine.connect() as connection:
            return await full_test_page(connection, query)

    async def abandoned(self) -> Sequence[Abandoned]:
        async with answering(), self._engine.connect() as connection:
            return await abandoned(connection)

    async def audit(self, query: ListAudit) -> AuditPage:
        where = [AuditRow.skill_id == query.skill_id] if query.skill_id else []
        page = (
            select(*AuditRow.__table__.c)
            .where(*where)
            .order_by(AuditRow.number.desc())
            .offset((query.page - 1) * query.size)
            .limit(query.size)
        )
        async with answering(), self._reading.connect() as connection:
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
            .values(detail=storable(detail), tasks_done=done, tasks_total=total)
        )
        async with answering(), self._engine.begin() as connection:
            await connection.execute(statement)


def _summary(row: Row[tuple[object, ...]]) -> dict[str, object]:
    return {
        "skill_id": row.id,
        "name": row.name,
        "description": row.description,
        "status": row.status,
        "validation_stage": row.stage,
        "validation_score": row.overall,
        "layer1_passed": row.layer1_passed,
        "layer2_passed": row.layer2_passed,
        "created_at": row.created_at,
        "validated_at": row.completed_at,
    }
