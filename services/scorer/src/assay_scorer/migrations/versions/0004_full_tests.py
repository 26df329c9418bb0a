"""Full tests."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

# The older code knows no full tests: a skill's part in one would block its next validation.
END_FULL_TESTS = """
update validations set step = 'done', stage = 'inconclusive', verdict = 'inconclusive',
  completed_at = now(),
  document = document || jsonb_build_object('step', 'done', 'verdict', 'inconclusive', 'pieces',
    '[]'::jsonb, 'reason', 'Full tests were taken out.', 'completed_at', now())
where kind = 'full_test' and step <> 'done'
"""


def _open_skill(where: str) -> None:
    op.drop_index("uq_validations_open_skill", table_name="validations")
    op.create_index(
        "uq_validations_open_skill",
        "validations",
        ["skill_id"],
        unique=True,
        postgresql_where=sa.text(where),
    )


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    _create_full_tests()
    _create_full_test_skills()
    _index_validations()


def _create_full_tests() -> None:
    op.create_table(
        "full_tests",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("started_by", sa.Text(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("runtime_version", sa.Integer(), nullable=False),
        sa.Column("cancelled_by", sa.Text(), nullable=True),
        sa.Column("completed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("under_way", sa.Boolean(), nullable=False),
        sa.CheckConstraint(
            "status in ('running', 'completed', 'cancelled')", name=op.f("ck_full_tests_status")
        ),
        sa.CheckConstraint(
            "under_way = (completed_at is null)",
            name=op.f("ck_full_tests_under_way_until_completed"),
        ),
        sa.CheckConstraint(
            "(status = 'running') <= under_way", name=op.f("ck_full_tests_running_is_under_way")
        ),
        sa.CheckConstraint(
            "(status = 'completed') <= not under_way",
            name=op.f("ck_full_tests_completed_has_ended"),
        ),
        sa.CheckConstraint(
            "(status = 'cancelled') = (cancelled_by is not null)",
            name=op.f("ck_full_tests_cancelled_by_somebody"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_full_tests")),
    )
    op.create_index("ix_full_tests_started_at", "full_tests", ["started_at"])
    op.create_index(
        "uq_full_tests_under_way",
        "full_tests",
        ["under_way"],
        unique=True,
        postgresql_where=sa.text("under_way"),
    )


def _create_full_test_skills() -> None:
    op.create_table(
        "full_test_skills",
        sa.Column("full_test_id", sa.Uuid(), nullable=False),
        sa.Column("skill_id", sa.Uuid(), nullable=False),
        sa.Column("skill_name", sa.Text(), nullable=False),
        sa.Column("validation_id", sa.Uuid(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=True),
        sa.Column("worse", sa.Boolean(), nullable=False),
        sa.Column("result", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("completed_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "verdict in ('passed', 'failed', 'inconclusive')",
            name=op.f("ck_full_test_skills_verdict"),
        ),
        sa.CheckConstraint(
            "(completed_at is null) = (verdict is null)"
            " and (completed_at is null) = (result is null)",
            name=op.f("ck_full_test_skills_ended_whole"),
        ),
        sa.ForeignKeyConstraint(
            ["full_test_id"],
            ["full_tests.id"],
            name=op.f("fk_full_test_skills_full_test_id_full_tests"),
        ),
        sa.PrimaryKeyConstraint("full_test_id", "skill_id", name=op.f("pk_full_test_skills")),
        sa.UniqueConstraint("validation_id", name=op.f("uq_full_test_skills_validation_id")),
    )
    op.create_index(
        "ix_full_test_skills_skill_id_completed_at",
        "full_test_skills",
        ["skill_id", "completed_at"],
    )


def _index_validations() -> None:
    _open_skill("step <> 'done' and kind <> 'full_test'")
    op.create_index(
        "uq_validations_open_full_test",
        "validations",
        ["skill_id"],
        unique=True,
        postgresql_where=sa.text("step <> 'done' and kind = 'full_test'"),
    )


def downgrade() -> None:
    op.execute(END_FULL_TESTS)
    op.drop_index("uq_validations_open_full_test", table_name="validations")
    _open_skill("step <> 'done'")
    op.drop_table("full_test_skills")
    op.drop_table("full_tests")
