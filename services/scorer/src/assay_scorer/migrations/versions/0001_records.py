"""Skills, revisions, validations and the outbox."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    _create_outbox()
    _create_skills()
    _create_revisions()
    _create_validations()
    _index_validations()


def _create_outbox() -> None:
    op.create_table(
        "outbox",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("dedup_key", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("traceparent", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("published_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("sequence", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox")),
        sa.UniqueConstraint("dedup_key", name=op.f("uq_outbox_dedup_key")),
    )
    op.create_index(
        "ix_outbox_due",
        "outbox",
        ["due_at"],
        unique=False,
        postgresql_where=sa.text("published_at is null"),
    )


def _create_skills() -> None:
    op.create_table(
        "skills",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "status in ('pending', 'validating', 'approved', 'rejected', 'rollback_pending')",
            name=op.f("ck_skills_status"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_skills")),
        sa.UniqueConstraint("name", name=op.f("uq_skills_name")),
    )
    op.create_index("ix_skills_created_at", "skills", ["created_at"], unique=False)
    op.create_index("ix_skills_status_created_at", "skills", ["status", "created_at"], unique=False)


def _create_revisions() -> None:
    op.create_table(
        "revisions",
        sa.Column("skill_id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("upload_id", sa.Uuid(), nullable=False),
        sa.Column("uploaded_by", sa.Text(), nullable=False),
        sa.Column("bundle", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("manifest", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("findings", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["skill_id"], ["skills.id"], name=op.f("fk_revisions_skill_id_skills")
        ),
        sa.PrimaryKeyConstraint("skill_id", "number", name=op.f("pk_revisions")),
        sa.UniqueConstraint("upload_id", name=op.f("uq_revisions_upload_id")),
    )


def _create_validations() -> None:
    op.create_table(
        "validations",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("skill_id", sa.Uuid(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("step", sa.Text(), nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=True),
        sa.Column("overall", sa.Float(), nullable=True),
        sa.Column("queued_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("deadline", sa.DateTime(timezone=True), nullable=True),
        sa.Column("completed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("tasks_done", sa.Integer(), nullable=False),
        sa.Column("tasks_total", sa.Integer(), nullable=False),
        sa.Column("work_key", sa.Text(), nullable=True),
        sa.Column("document", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.CheckConstraint(
            "(stage in ('completed', 'failed', 'inconclusive')) = (step = 'done')",
            name=op.f("ck_validations_stage_matches_step"),
        ),
        sa.CheckConstraint(
            "(step = 'done') <= (verdict is not null)", name=op.f("ck_validations_done_has_verdict")
        ),
        sa.CheckConstraint(
            "stage in ('queued', 'layer1', 'layer2', 'completed', 'failed', 'inconclusive')",
            name=op.f("ck_validations_stage"),
        ),
        sa.CheckConstraint(
            "verdict in ('passed', 'failed', 'inconclusive')", name=op.f("ck_validations_verdict")
        ),
        sa.CheckConstraint("overall between 0 and 100", name=op.f("ck_validations_overall")),
        sa.ForeignKeyConstraint(
            ["skill_id", "revision"],
            ["revisions.skill_id", "revisions.number"],
            name=op.f("fk_validations_skill_id_revision_revisions"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_validations")),
    )


def _index_validations() -> None:
    op.create_index(
        "ix_validations_open",
        "validations",
        ["queued_at"],
        unique=False,
        postgresql_where=sa.text("step <> 'done'"),
    )
    op.create_index(
        "ix_validations_skill_id_queued_at", "validations", ["skill_id", "queued_at"], unique=False
    )
    op.create_index(
        "uq_validations_open_skill",
        "validations",
        ["skill_id"],
        unique=True,
        postgresql_where=sa.text("step <> 'done'"),
    )


def downgrade() -> None:
    for table in ("validations", "revisions", "skills", "outbox"):
        op.drop_table(table)
