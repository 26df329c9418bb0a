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
    Table,
    Text,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

STATUSES = "'pending', 'validating', 'approved', 'rejected', 'rollback_pending'"
STAGES = "'queued', 'layer1', 'layer2', 'completed', 'failed', 'inconclusive'"
KINDS = "'initial', 'revalidation', 'full_test'"
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


def table_of(row: type[Base]) -> Table:
    """The table that the rows of this class are in."""
    table = row.__table__
    assert isinstance(table, Table)
    return table


class SkillRow(Base):
    __tablename__ = "skills"
    __table_args__ = (
        CheckConstraint(f"status in ({STATUSES})", name="status"),
        CheckConstraint(f"stage in ({STAGES})", name="stage"),
        CheckConstraint(
            "(status = 'validating') = (stage in ('layer1', 'layer2'))", name="under_way"
        ),
        # How many there are of a stage is told by far fewer pages than which.
        Index("ix_skills_stage", "stage"),
        # In the order of lists; with the name, so that a search by it reads nothing else.
        Index("ix_skills_listed", text("created_at desc"), "id", "name"),
        Index("ix_skills_listed_by_status", "status", text("created_at desc"), "id", "name"),
        Index("ix_skills_listed_by_stage", "stage", text("created_at desc"), "id", "name"),
    )

    id: Mapped[UUID] = mapped_column(Uuid, primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    status: Mapped[str]
    stage: Mapped[str | None]
    """Of the newest validation of the newest revision, full tests apart; none before the first."""
    created_at: Mapped[datetime]


class RevisionRow(Base):
    __tablename__ = "revisions"
    __table_args__ = (CheckConstraint("number >= 1", name="number"),)

    skill_id: Mapped[UUID] = mapped_column(ForeignKey("skills.id"), primary_key=True)
    number: Mapped[int] = mapped_column(Integer, primary_key=True)
    upload_id: Mapped[UUID] = mapped_column(Uuid, unique=True)
    uploaded_by: Mapped[str]
    bundle: Mapped[dict[str, object]]
    manifest: Mapped[dict[str, object]]
    findings: Mapped[list[dict[str, object]]]
    created_at: Mapped[datetime]


class EnvironmentRow(Base):
    """What validations started from, stored once for all that share it.

    Its id is the digest of its content. The bare base has no row.
    """

    __tablename__ = "environments"
    __table_args__ = (
        CheckConstraint("id ~ '^[0-9a-f]{64}$'", name="id_is_a_digest"),
        Index("ix_environments_used_at", "used_at"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    document: Mapped[dict[str, object]]
    used_at: Mapped[datetime]
    """When a validation last started from it."""


class ValidationRow(Base):
    __tablename__ = "validations"
    __table_args__ = (
        ForeignKeyConstraint(["skill_id", "revision"], ["revisions.skill_id", "revisions.number"]),
        CheckConstraint(f"kind in ({KINDS})", name="kind"),
        CheckConstraint(f"stage in ({STAGES})", name="stage"),
        CheckConstraint(f"verdict in ({VERDICTS})", name="verdict"),
        CheckConstraint("(step = 'done') <= (completed_at is not null)", name="done_has_ended"),
        CheckConstraint(f"({ENDED}) = (step = 'done')", name="stage_matches_step"),
        CheckConstraint("(step = 'done') <= (verdict is not null)", name="done_has_verdict"),
        CheckConstraint("overall between 0 and 100", name="overall"),
        Index("ix_validations_skill_id_queued_at", "skill_id", "queued_at"),
        Index(
            "ix_validations_open",
            "queued_at",
            postgresql_where=text("step <> 'done'"),
        ),
        Index("ix_validations_environment_id", "environment_id"),
        # One validation of a skill at a time, whoever asks; its part in a full test is apart.
        Index(
            "uq_validations_open_skill",
            "skill_id",
            unique=True,
            postgresql_where=text("step <> 'done' and kind <> 'full_test'"),
        ),
        Index(
            "uq_validations_open_full_test",
            "skill_id",
            unique=True,
            postgresql_where=text("step <> 'done' and kind = 'full_test'"),
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
    environment_id: Mapped[str | None] = mapped_column(ForeignKey("environments.id"))
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


class FullTestRow(Base):
    __tablename__ = "full_tests"
    __table_args__ = (
        CheckConstraint("status in ('running', 'completed', 'cancelled')", name="status"),
        CheckConstraint("under_way = (completed_at is null)", name="under_way_until_completed"),
        CheckConstraint("(status = 'running') <= under_way", name="running_is_under_way"),
        CheckConstraint("(status = 'completed') <= not under_way", name="completed_has_ended"),
        CheckConstraint(
            "(status = 'cancelled') = (cancelled_by is not null)", name="cancelled_by_somebody"
        ),
        # One at a time, whoever asks.
        Index(
            "uq_full_tests_under_way", "under_way", unique=True, postgresql_where=text("under_way")
        ),
        Index("ix_full_tests_started_at", "started_at"),
    )

    id: Mapped[UUID] = mapped_column(Uuid, primary_key=True)
    status: Mapped[str]
    started_by: Mapped[str]
    started_at: Mapped[datetime]
    runtime_version: Mapped[int]
    cancelled_by: Mapped[str | None]
    completed_at: Mapped[datetime | None]
    under_way: Mapped[bool]


class FullTestSkillRow(Base):
    """A skill in a full test. It outlives the skill, so only its full test is referred to."""

    __tablename__ = "full_test_skills"
    __table_args__ = (
        CheckConstraint(f"verdict in ({VERDICTS})", name="verdict"),
        CheckConstraint(
            "(completed_at is null) = (verdict is null)"
            " and (completed_at is null) = (result is null)",
            name="ended_whole",
        ),
        Index("ix_full_test_skills_skill_id_completed_at", "skill_id", "completed_at"),
    )

    full_test_id: Mapped[UUID] = mapped_column(ForeignKey("full_tests.id"), primary_key=True)
    skill_id: Mapped[UUID] = mapped_column(Uuid, primary_key=True)
    skill_name: Mapped[str]
    validation_id: Mapped[UUID] = mapped_column(Uuid, unique=True)
    verdict: Mapped[str | None]
    worse: Mapped[bool]
    result: Mapped[dict[str, object] | None]
    completed_at: Mapped[datetime | None]


class ResultRow(Base):
    """How an approved skill fared in layer 2. The key is the digest of what that rests on.

    Kept with the end of another skill's validation, which must not fail because this one was
    deleted meanwhile; so it refers to nothing.
    """

    __tablename__ = "results"

    skill_id: Mapped[UUID] = mapped_column(Uuid, primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    at: Mapped[datetime]
    document: Mapped[dict[str, object]]


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


class AnswerRow(Base):
    """The first answer to a question that may be asked again, by its key.

    Without reply and problem, the effect has happened and the answer is about to be kept.
    """

    __tablename__ = "answers"
    __table_args__ = (Index("ix_answers_at", "at"),)

    key: Mapped[str] = mapped_column(primary_key=True)
    fingerprint: Mapped[str]
    at: Mapped[datetime]
    reply: Mapped[dict[str, object] | None] = mapped_column(JSONB(none_as_null=True))
    problem: Mapped[dict[str, object] | None] = mapped_column(JSONB(none_as_null=True))


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
