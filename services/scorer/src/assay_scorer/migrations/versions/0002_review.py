"""Review: layers, runtime versions, the audit log; open work is told by the document alone."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

PIECES_FROM_STEP = """
update validations set document = (document - 'attempt' - 'lane' - 'failures')
  || jsonb_build_object('pieces', case when step in ('queued', 'done') then '[]'::jsonb
     else jsonb_build_array(jsonb_build_object('what', step, 'attempt', document -> 'attempt',
       'lane', document -> 'lane', 'failures', document -> 'failures')) end)
"""
STEP_FROM_PIECES = """
update validations set document = (document - 'pieces') || jsonb_build_object(
  'attempt', coalesce(document #> '{pieces,0,attempt}', '1'),
  'lane', coalesce(document #> '{pieces,0,lane}', '"shared"'),
  'failures', coalesce(document #> '{pieces,0,failures}', '0'))
"""
# The older code knows no layer 2: what is there waits at its last known step for its deadline.
LEAVE_LAYER_2 = """
update validations set step = 'offline_grading', stage = 'layer1',
  document = document || '{"step": "offline_grading"}' where step = 'regression'
"""
LAYERS_FROM_VERDICT = """
update validations set layer1_passed = (verdict = 'passed'),
  layer2_passed = case when verdict = 'passed' then true end
where verdict in ('passed', 'failed')
"""
BASE_VERSION = """
insert into runtime_versions (number, created_at, created_by, current, available, kept,
  keep_attempt, keep_asked_at)
values (0, now(), 'assay', true, true, true, 0, now())
"""


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    _create_audit_log()
    _create_runtime_versions()
    _change_validations()


def _create_audit_log() -> None:
    op.create_table(
        "audit_log",
        sa.Column("number", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("skill_id", sa.Uuid(), nullable=True),
        sa.Column("skill_name", sa.Text(), nullable=True),
        sa.Column("details", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_audit_log")),
    )
    op.create_index("ix_audit_log_skill_id_number", "audit_log", ["skill_id", "number"])


def _create_runtime_versions() -> None:
    op.create_table(
        "runtime_versions",
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("built_on", sa.Integer(), nullable=True),
        sa.Column("snapshot", sa.Text(), nullable=True),
        sa.Column("validation_id", sa.Uuid(), nullable=True),
        sa.Column("skill_id", sa.Uuid(), nullable=True),
        sa.Column("skill_name", sa.Text(), nullable=True),
        sa.Column("skill_revision", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("current", sa.Boolean(), nullable=False),
        sa.Column("available", sa.Boolean(), nullable=False),
        sa.Column("kept", sa.Boolean(), nullable=False),
        sa.Column("keep_attempt", sa.Integer(), nullable=False),
        sa.Column("keep_asked_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "(number = 0) = (snapshot is null)",
            name=op.f("ck_runtime_versions_base_has_no_snapshot"),
        ),
        sa.CheckConstraint(
            "(number = 0) = (built_on is null)", name=op.f("ck_runtime_versions_built_on_another")
        ),
        sa.CheckConstraint("built_on < number", name=op.f("ck_runtime_versions_built_on_older")),
        sa.ForeignKeyConstraint(
            ["built_on"],
            ["runtime_versions.number"],
            name=op.f("fk_runtime_versions_built_on_runtime_versions"),
        ),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_runtime_versions")),
        sa.UniqueConstraint("snapshot", name=op.f("uq_runtime_versions_snapshot")),
        sa.UniqueConstraint("validation_id", name=op.f("uq_runtime_versions_validation_id")),
    )
    op.create_index(
        "uq_runtime_versions_current",
        "runtime_versions",
        ["current"],
        unique=True,
        postgresql_where=sa.text("current"),
    )
    op.create_index(
        "ix_runtime_versions_skill_id_number", "runtime_versions", ["skill_id", "number"]
    )
    op.execute(BASE_VERSION)


def _change_validations() -> None:
    op.add_column("validations", sa.Column("layer1_passed", sa.Boolean(), nullable=True))
    op.add_column("validations", sa.Column("layer2_passed", sa.Boolean(), nullable=True))
    op.drop_column("validations", "work_key")
    op.execute(LAYERS_FROM_VERDICT)
    op.execute(PIECES_FROM_STEP)


def downgrade() -> None:
    op.add_column("validations", sa.Column("work_key", sa.Text(), nullable=True))
    op.execute(STEP_FROM_PIECES)
    op.execute(LEAVE_LAYER_2)
    op.drop_column("validations", "layer2_passed")
    op.drop_column("validations", "layer1_passed")
    op.drop_table("runtime_versions")
    op.drop_table("audit_log")
