"""Lists by index: the stage of a skill stands beside its status."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

STAGE_OF_NEWEST = """
update skills set stage = (
  select stage from validations
  where skill_id = skills.id and kind <> 'full_test'
    and revision = (select max(number) from revisions where skill_id = skills.id)
  order by queued_at desc limit 1)
"""
LISTED = ("created_at desc", "id", "name")


def _index(name: str, *columns: str) -> None:
    op.create_index(name, "skills", [sa.text(column) for column in columns])


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.add_column("skills", sa.Column("stage", sa.Text(), nullable=True))
    op.execute(STAGE_OF_NEWEST)
    # What was updated has checks waiting for the end; they are through before the table changes.
    op.execute("set constraints all immediate")
    op.create_check_constraint(
        op.f("ck_skills_stage"),
        "skills",
        "stage in ('queued', 'layer1', 'layer2', 'completed', 'failed', 'inconclusive')",
    )
    op.create_check_constraint(
        op.f("ck_skills_under_way"),
        "skills",
        "(status = 'validating') = (stage in ('layer1', 'layer2'))",
    )
    op.drop_index("ix_skills_created_at", "skills")
    op.drop_index("ix_skills_status_created_at", "skills")
    _index("ix_skills_listed", *LISTED)
    _index("ix_skills_listed_by_status", "status", *LISTED)
    _index("ix_skills_listed_by_stage", "stage", *LISTED)
    _index("ix_skills_stage", "stage")
    op.create_check_constraint(
        op.f("ck_validations_kind"),
        "validations",
        "kind in ('initial', 'revalidation', 'full_test')",
    )
    op.create_check_constraint(
        op.f("ck_validations_done_has_ended"),
        "validations",
        "(step = 'done') <= (completed_at is not null)",
    )
    op.create_check_constraint(op.f("ck_revisions_number"), "revisions", "number >= 1")


def downgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.drop_constraint(op.f("ck_revisions_number"), "revisions")
    op.drop_constraint(op.f("ck_validations_done_has_ended"), "validations")
    op.drop_constraint(op.f("ck_validations_kind"), "validations")
    for name in ("listed", "listed_by_status", "listed_by_stage", "stage"):
        op.drop_index(f"ix_skills_{name}", "skills")
    op.drop_column("skills", "stage")
    op.create_index("ix_skills_created_at", "skills", ["created_at"])
    op.create_index("ix_skills_status_created_at", "skills", ["status", "created_at"])
