"""Environments are stored once; validations refer to them."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

# The base without approved skills is nobody's to store: of it, no environment is made.
STORE_ENVIRONMENTS = """
insert into environments (id, document, used_at)
select encode(sha256(convert_to((document -> 'environment')::text, 'UTF8')), 'hex'),
  document -> 'environment', coalesce(max(started_at), now())
from validations
where document -> 'environment' <> '{"runtime_version": 0, "snapshot": null, "approved": []}'
group by document -> 'environment'
"""
REFER_TO_THEM = """
update validations set environment_id = environments.id
from environments where environments.document = validations.document -> 'environment'
"""
NAME_SKILLS = """
update validations set document = document || jsonb_build_object('regressions', (
  select jsonb_agg(each.value || jsonb_build_object('skill', each.value #> '{skill,name}')
                   order by each.ordinality)
  from jsonb_array_elements(document -> 'regressions') with ordinality each))
where jsonb_array_length(document -> 'regressions') > 0
"""
EMBED_SKILLS = """
update validations set document = validations.document || jsonb_build_object('regressions', (
  select jsonb_agg(each.value || jsonb_build_object('skill', skill.value)
                   order by each.ordinality)
  from jsonb_array_elements(validations.document -> 'regressions') with ordinality each
  join jsonb_array_elements(environments.document -> 'approved') skill
    on skill.value ->> 'name' = each.value ->> 'skill'))
from environments
where environments.id = environment_id
  and jsonb_array_length(validations.document -> 'regressions') > 0
"""
EMBED_ENVIRONMENTS = """
update validations set document = document || jsonb_build_object('environment', coalesce(
  (select environments.document from environments where environments.id = environment_id),
  '{"runtime_version": 0, "snapshot": null, "approved": []}'))
"""


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.create_table(
        "environments",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("document", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("id ~ '^[0-9a-f]{64}$'", name=op.f("ck_environments_id_is_a_digest")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_environments")),
    )
    op.create_index("ix_environments_used_at", "environments", ["used_at"])
    op.add_column("validations", sa.Column("environment_id", sa.Text(), nullable=True))
    op.execute(STORE_ENVIRONMENTS)
    op.execute(REFER_TO_THEM)
    op.execute(NAME_SKILLS)
    op.execute("update validations set document = document - 'environment'")
    # What was updated has checks waiting for the end; they are through before the table changes.
    op.execute("set constraints all immediate")
    op.create_foreign_key(
        op.f("fk_validations_environment_id_environments"),
        "validations",
        "environments",
        ["environment_id"],
        ["id"],
    )
    op.create_index("ix_validations_environment_id", "validations", ["environment_id"])


def downgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.execute(EMBED_SKILLS)
    op.execute(EMBED_ENVIRONMENTS)
    op.drop_index("ix_validations_environment_id", "validations")
    op.drop_column("validations", "environment_id")
    op.drop_table("environments")
