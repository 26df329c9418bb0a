"""Brings the database to the schema this code needs."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncEngine

MIGRATIONS = Path(__file__).parents[1] / "migrations"
MIGRATION_LOCK = 0x455B
"""Key of the advisory lock that makes replicas migrate one after another."""


def alembic_config(connection: Connection) -> Config:
    """Alembic's configuration for one open connection."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    return config


async def migrate(engine: AsyncEngine) -> None:
    """Upgrade to the newest revision; does nothing when it is there."""

    def upgrade(connection: Connection) -> None:
        command.upgrade(alembic_config(connection), "head")

    async with engine.begin() as connection:
        await connection.execute(
            text("select pg_advisory_xact_lock(:key)"), {"key": MIGRATION_LOCK}
        )
        await connection.run_sync(upgrade)
