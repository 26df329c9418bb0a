from collections.abc import AsyncIterator

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from assay_scorer.adapters.migrate import migrate
from assay_scorer.adapters.records import open_engine


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[AsyncEngine]:
    """A database of the test's own, with all tables."""
    engine = open_engine(database_url)
    await migrate(engine)
    yield engine
    await engine.dispose()
