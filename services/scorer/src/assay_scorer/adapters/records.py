"""The records in PostgreSQL."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from uuid import UUID, uuid4

from sqlalchemy import FromClause, Row, Select, func, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine

from assay_contracts.base import Message, Work
from assay_contracts.rpc import (
    ListSkills,
    Problem,
    ProblemDetails,
    ProblemError,
    RegisterReply,
    RegisterSkill,
    SkillDetail,
    SkillPage,
    SkillStatusView,
    SkillSummary,
)
from assay_contracts.skills import SkillUploaded
from assay_contracts.validations import ReportRef
from assay_scorer.adapters.tables import OutboxRow, RevisionRow, SkillRow, ValidationRow
from assay_scorer.domain.conductor import Decision, Outgoing
from assay_scorer.domain.progress import fraction_done
from assay_scorer.domain.report import report_ref
from assay_scorer.domain.validation import Validation
from assay_servicekit.bus import Unavailable
from assay_servicekit.telemetry import current_traceparent

COMMAND_TIMEOUT_S = 10
AWAY = ("08", "53", "57P")
"""SQLSTATE classes of a server that is starting, stopping, full or out of reach."""
ADMISSION_LOCK = 0x455A
"""Key of the advisory lock that makes admission one at a time."""


def open_engine(url: str) -> AsyncEngine:
    """An engine that notices a dead server instead of waiting for it."""
    return create_async_engine(
        url,
        pool_size=10,
        max_overflow=10,
        pool_pre_ping=True,
        connect_args={"timeout": 5, "command_timeout": COMMAND_TIMEOUT_S},
    )


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
        async with answering(), AsyncSession(self._engine) as session, session.begin():
            yield PostgresTransaction(session)

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

    async def note_progress(self, validation_id: UUID, detail: str, done: int, total: int) -> None:
        statement = (
            update(ValidationRow)
            .where(ValidationRow.id == validation_id, ValidationRow.step != "done")
            .values(detail=detail, tasks_done=done, tasks_total=total)
        )
        async with answering(), self._engine.begin() as connection:
            await connection.execute(statement)


class PostgresTransaction:
    """Implements `ports.Transaction`."""

    def __init__(self, session: AsyncSession) -> None:
        self._session = session

    async def register(self, upload: RegisterSkill, now: datetime) -> RegisterReply:
        if (before := await self._registered(upload.upload_id)) is not None:
            return before
        skill = await self._skill_to_extend(upload, now)
        number = 1 + (
            await self._session.scalar(
                select(func.coalesce(func.max(RevisionRow.number), 0)).where(
                    RevisionRow.skill_id == skill.id
                )
            )
            or 0
        )
        skill.status = "pending"
        self._session.add(
            RevisionRow(
                skill_id=skill.id,
                number=number,
                upload_id=upload.upload_id,
                uploaded_by=upload.uploaded_by,
                bundle=upload.bundle.model_dump(mode="json"),
                manifest=upload.manifest.model_dump(mode="json"),
                findings=[finding.model_dump(mode="json") for finding in upload.findings],
                created_at=now,
            )
        )
        await self._session.flush()
        validation = Validation(
            validation_id=uuid4(),
            skill_id=skill.id,
            skill_name=skill.name,
            revision=number,
            kind="initial",
            bundle=upload.bundle,
            manifest=upload.manifest,
            findings=upload.findings,
            queued_at=now,
        )
        uploaded = SkillUploaded(
            skill_id=skill.id,
            revision=number,
            bundle=upload.bundle,
            manifest=upload.manifest,
            findings=upload.findings,
        )
        await self.store(Decision(validation, (Outgoing(uploaded),)), now)
        return RegisterReply(
            skill_id=skill.id,
            revision=number,
            status="pending",
            validation_id=validation.validation_id,
        )

    async def locked(self, validation_id: UUID) -> Validation | None:
        document = await self._session.scalar(
            select(ValidationRow.document)
            .where(ValidationRow.id == validation_id)
            .with_for_update()
        )
        return Validation.model_validate(document) if document is not None else None

    async def admissible(self, limit: int) -> Sequence[Validation]:
        await self._session.execute(select(func.pg_advisory_xact_lock(ADMISSION_LOCK)))
        active = await self._session.scalar(
            select(func.count()).where(ValidationRow.step.not_in(("queued", "done")))
        )
        documents = await self._session.scalars(
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
        row = {
            **({"work_key": asked[0]} if asked else {}),
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
            "document": validation.model_dump(mode="json"),
        }
        await self._session.execute(
            insert(ValidationRow)
            .values(id=validation.validation_id, **row)
            .on_conflict_do_update(index_elements=["id"], set_=row)
        )
        await self._session.execute(
            update(SkillRow)
            .where(SkillRow.id == validation.skill_id)
            .values(status=validation.skill_status)
        )
        for outgoing in decision.outgoing:
            await self._queue(outgoing.message, now, now + outgoing.delay)

    async def _queue(self, message: Message, now: datetime, due_at: datetime) -> None:
        await self._session.execute(
            insert(OutboxRow)
            .values(
                dedup_key=message.dedup_key(),
                subject=message.subject(),
                body=message.model_dump_json(),
                traceparent=current_traceparent(),
                created_at=now,
                due_at=due_at,
            )
            .on_conflict_do_nothing(index_elements=["dedup_key"])
        )

    async def _registered(self, upload_id: UUID) -> RegisterReply | None:
        row = (
            await self._session.execute(
                select(RevisionRow.skill_id, RevisionRow.number, SkillRow.status, ValidationRow.id)
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
        skill_id, number, status, validation_id = row
        return RegisterReply.model_validate(
            {
                "skill_id": skill_id,
                "revision": number,
                "status": status,
                "validation_id": validation_id,
            }
        )

    async def _skill_to_extend(self, upload: RegisterSkill, now: datetime) -> SkillRow:
        """The skill this upload is a revision of, held. Raises ProblemError if the name is taken.

        Two uploads of one new name meet at the unique index: the second waits for the first and
        then finds it.
        """
        name = upload.manifest.name
        created = await self._session.scalar(
            insert(SkillRow)
            .values(id=uuid4(), name=name, status="pending", created_at=now)
            .on_conflict_do_nothing(index_elements=["name"])
            .returning(SkillRow.id)
        )
        skill = await self._session.scalar(
            select(SkillRow).where(SkillRow.name == name).with_for_update()
        )
        assert skill is not None
        if created is None and skill.status != "rejected":
            raise ProblemError(
                Problem(
                    code="SKILL_ALREADY_EXISTS",
                    message=(
                        f"A skill named '{name}' already exists and is {skill.status}. "
                        f"Delete it, wait until it is rejected, or upload under another name."
                    ),
                    details=ProblemDetails(skill_id=skill.id),
                )
            )
        return skill


def _newest_validation() -> FromClause:
    """The newest validation of each skill, looked up by index for the skills at hand."""
    return (
        select(
            ValidationRow.id.label("validation_id"),
            ValidationRow.stage,
            ValidationRow.step,
            ValidationRow.verdict,
            ValidationRow.overall,
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
    verdict = row.verdict
    return {
        "skill_id": row.id,
        "name": row.name,
        "description": row.manifest["description"],
        "status": row.status,
        "validation_stage": row.stage,
        "validation_score": row.overall,
        "layer1_passed": None if verdict in (None, "inconclusive") else verdict == "passed",
        "layer2_passed": True if verdict == "passed" else None,
        "created_at": row.created_at,
        "validated_at": row.completed_at,
    }
