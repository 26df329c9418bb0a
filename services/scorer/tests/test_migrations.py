"""Migrations of the database, up and down, with what is stored in it."""

import json

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, text

from assay_scorer.adapters.database import open_engine
from assay_scorer.adapters.migrate import alembic_config
from assay_scorer.adapters.tables import Base
from assay_scorer.domain.validation import Validation
from assay_scorer.domain.work import open_work
from assay_testkit.scorer import a_validation


async def test_work_under_way_is_found_again_after_the_migration(database_url: str) -> None:
    engine = open_engine(database_url)
    old = {
        **a_validation().model_dump(mode="json", exclude={"pieces", "environment", "regressions"}),
        "step": "planning",
        "attempt": 2,
        "lane": "solo",
        "failures": 1,
    }

    def through_both(connection: Connection) -> tuple[object, object]:
        config = alembic_config(connection)
        command.upgrade(config, "0001")
        connection.execute(
            text("insert into skills values (:skill, 'csv-analyzer', 'validating', now());"),
            {"skill": old["skill_id"]},
        )
        connection.execute(
            text(
                "insert into revisions values (:skill, 1, :skill, 'ann', '{}', '{}', '[]', now())"
            ),
            {"skill": old["skill_id"]},
        )
        connection.execute(
            text(
                "insert into validations (id, skill_id, revision, kind, step, stage, queued_at,"
                " detail, tasks_done, tasks_total, document) values (:id, :skill, 1, 'initial',"
                " 'planning', 'layer1', now(), '', 0, 0, cast(:document as jsonb))"
            ),
            {
                "id": old["validation_id"],
                "skill": old["skill_id"],
                "document": json.dumps(old),
            },
        )
        command.upgrade(config, "head")
        up = connection.scalar(text("select document from validations"))
        command.downgrade(config, "0001")
        return up, connection.scalar(text("select document from validations"))

    async with engine.begin() as connection:
        up, down = await connection.run_sync(through_both)
    await engine.dispose()
    (work,) = open_work(Validation.model_validate(up))
    assert (work.attempt, work.lane) == (2, "solo")
    assert isinstance(down, dict)
    assert {key: down[key] for key in ("attempt", "lane", "failures")} == {
        "attempt": 2,
        "lane": "solo",
        "failures": 1,
    }


async def test_migrations_go_up_down_and_up_and_match_the_tables(database_url: str) -> None:
    engine = open_engine(database_url)

    def differences(connection: Connection) -> list[object]:
        config = alembic_config(connection)
        for revision in ("head", "base", "head"):
            (command.downgrade if revision == "base" else command.upgrade)(config, revision)
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        return list(compare_metadata(context, Base.metadata))

    async with engine.begin() as connection:
        assert await connection.run_sync(differences) == []
    await engine.dispose()
