"""The records in PostgreSQL: all areas in one object, and in one transaction."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy import text

from assay_scorer.adapters.audit import PostgresAuditLog, PostgresAuditQueries
from assay_scorer.adapters.full_test_changes import PostgresFullTestChanges
from assay_scorer.adapters.full_test_queries import PostgresFullTestQueries
from assay_scorer.adapters.idempotency import claim_key
from assay_scorer.adapters.outbox import PostgresOutboxChanges
from assay_scorer.adapters.results import PostgresResults
from assay_scorer.adapters.runtime_versions import (
    PostgresRuntimeVersionChanges,
    PostgresRuntimeVersionQueries,
)
from assay_scorer.adapters.skills import PostgresSkillChanges, PostgresSkillQueries
from assay_scorer.adapters.validations import PostgresValidationChanges, PostgresValidationQueries


class PostgresTransaction(
    PostgresSkillChanges,
    PostgresValidationChanges,
    PostgresRuntimeVersionChanges,
    PostgresFullTestChanges,
    PostgresResults,
    PostgresAuditLog,
    PostgresOutboxChanges,
):
    """Implements `ports.records.Transaction`."""


class PostgresRecords(
    PostgresSkillQueries,
    PostgresValidationQueries,
    PostgresRuntimeVersionQueries,
    PostgresFullTestQueries,
    PostgresAuditQueries,
):
    """Implements `ports.records.Records`."""

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[PostgresTransaction]:
        async with self._changing() as connection:
            await claim_key(connection)
            yield PostgresTransaction(connection, self._environments)

    async def ping(self) -> None:
        async with self._reading() as connection:
            await connection.execute(text("select 1"))
