"""The tables. A validation is one document; the columns beside it are projections to search by."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    DateTime,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    MetaData,
    Text,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

STATUSES = "'pending', 'validating', 'approved', 'rejected', 'rollback_pending'"
STAGES = "'queued', 'layer1', 'layer2', 'completed', 'failed', 'inconclusive'"
VERDICTS = "'passed', 'failed', 'inconclusive'"
ENDED = "stage in ('completed', 'failed', 'inconclusive')"


class Base(DeclarativeBase):
    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {  # noqa: RUF012  # SQLAlchemy reads it from the class
        datetime: DateTime(timezone=True),
        str: Text,
        dict[str, object]: JSONB,
        list[dict[str, object]]: JSONB,
    }


class SkillRow(Base):
    __tablename__ = "skills"
    __table_args__ = (
        CheckConstraint(f"status in ({STATUSES})", name="status"),
        Index("ix_skills_status_created_at", "status", "created_at"),
        Index("ix_skills_created_at", "created_at"),
    )

    id: Mapped[UUID] = mapped_column(Uuid, primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    status: Mapped[str]
    created_at: Mapped[datetime]


class RevisionRow(Base):
    __tablename__ = "revisions"

    skill_id: Mapped[UUID] = mapped_column(ForeignKey("skills.id"), primary_key=True)
    number: Mapped[int] = mapped_column(Integer, primary_key=True)
    upload_id: Mapped[UUID] = mapped_column(Uuid, unique=True)
    uploaded_by: Mapped[str]
    bundle: Mapped[dict[str, object]]
    manifest: Mapped[dict[str, object]]
    findings: Mapped[list[dict[str, object]]]
    created_at: Mapped[datetime]


class ValidationRow(Base):
    __tablename__ = "validations"
    __table_args__ = (
        ForeignKeyConstraint(["skill_id", "revision"], ["revisions.skill_id", "revisions.number"]),
        CheckConstraint(f"stage in ({STAGES})", name="stage"),
        CheckConstraint(f"verdict in ({VERDICTS})", name="verdict"),
        CheckConstraint(f"({ENDED}) = (step = 'done')", name="stage_matches_step"),
        CheckConstraint("(step = 'done') <= (verdict is not null)", name="done_has_verdict"),
        CheckConstraint("overall between 0 and 100", name="overall"),
        Index("ix_validations_skill_id_queued_at", "skill_id", "queued_at"),
        Index(
            "ix_validations_open",
            "queued_at",
            postgresql_where=text("step <> 'done'"),
        ),
        # One validation of a skill at a time, whoever asks.
        Index(
            "uq_validations_open_skill",
            "skill_id",
            unique=True,
            postgresql_where=text("step <> 'done'"),
        ),
    )

    id: Mapped[UUID] = mapped_column(Uuid, primary_key=True)
    skill_id: Mapped[UUID]
    revision: Mapped[int]
    kind: Mapped[str]
    step: Mapped[str]
    stage: Mapped[str]
    verdict: Mapped[str | None]
    overall: Mapped[float | None] = mapped_column(Float)
    queued_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    deadline: Mapped[datetime | None]
    completed_at: Mapped[datetime | None]
    detail: Mapped[str]
    tasks_done: Mapped[int]
    tasks_total: Mapped[int]
    layer1_passed: Mapped[bool | None]
    layer2_passed: Mapped[bool | None]
    document: Mapped[dict[str, object]]


class VersionRow(Base):
    """A version outlives the skill that made it, so its columns about it refer to nothing."""

    __tablename__ = "runtime_versions"
    __table_args__ = (
        CheckConstraint("(number = 0) = (snapshot is null)", name="base_has_no_snapshot"),
        CheckConstraint("(number = 0) = (built_on is null)", name="built_on_another"),
        CheckConstraint("built_on < number", name="built_on_older"),
        Index(
            "uq_runtime_versions_current", "current", unique=True, postgresql_where=text("current")
        ),
        Index("ix_runtime_versions_skill_id_number", "skill_id", "number"),
    )

    number: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    built_on: Mapped[int | None] = mapped_column(ForeignKey("runtime_versions.number"))
    snapshot: Mapped[str | None] = mapped_column(unique=True)
    validation_id: Mapped[UUID | None] = mapped_column(Uuid, unique=True)
    skill_id: Mapped[UUID | None]
    skill_name: Mapped[str | None]
    skill_revision: Mapped[int | None]
    created_at: Mapped[datetime]
    created_by: Mapped[str]
    current: Mapped[bool]
    available: Mapped[bool]
    kept: Mapped[bool]
    keep_attempt: Mapped[int]
    keep_asked_at: Mapped[datetime]


class AuditRow(Base):
    """Who did what. It outlives what it is about, so it refers to nothing."""

    __tablename__ = "audit_log"
    __table_args__ = (Index("ix_audit_log_skill_id_number", "skill_id", "number"),)

    number: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    at: Mapped[datetime]
    actor: Mapped[str]
    action: Mapped[str]
    skill_id: Mapped[UUID | None]
    skill_name: Mapped[str | None]
    details: Mapped[dict[str, object]]


class OutboxRow(Base):
    """What is to be said, stored with the reason to say it."""

    __tablename__ = "outbox"
    __table_args__ = (
        Index("ix_outbox_due", "due_at", postgresql_where=text("published_at is null")),
    )

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    dedup_key: Mapped[str] = mapped_column(unique=True)
    subject: Mapped[str]
    body: Mapped[str]
    traceparent: Mapped[str | None]
    created_at: Mapped[datetime]
    due_at: Mapped[datetime]
    published_at: Mapped[datetime | None]
    sequence: Mapped[int | None] = mapped_column(BigInteger)
    """Of the stored message in its stream."""
