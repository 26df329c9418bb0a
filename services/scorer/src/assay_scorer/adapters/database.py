"""The connection to PostgreSQL, and what every repository does on it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from sqlalchemy import event
from sqlalchemy.engine import AdaptedConnection
from sqlalchemy.exc import DBAPIError, DisconnectionError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from assay_scorer.adapters.environments import Environments
from assay_scorer.adapters.nul_characters import json_without_nul
from assay_servicekit.questions import Unavailable

COMMAND_TIMEOUT_S: Final = 10
AWAY: Final = ("08", "53", "57P")
"""SQLSTATE classes of a server that is starting, stopping, full or out of reach."""


def open_engine(url: str) -> AsyncEngine:
    """An engine that notices a dead server instead of waiting for it."""
    engine = create_async_engine(
        url,
        pool_size=10,
        max_overflow=10,
        json_serializer=json_without_nul,
        connect_args={
            "timeout": 5,
            "command_timeout": COMMAND_TIMEOUT_S,
            # The default is for disks with an arm to move, and shuns an index for most of a list.
            "server_settings": {"random_page_cost": "1.1"},
        },
    )
    event.listen(engine.sync_engine, "checkout", _replace_if_closed)
    return engine


def _replace_if_closed(connection: AdaptedConnection, *_: object) -> None:
    # The driver is told when the server goes; asking it costs no round trips, as a ping would.
    if connection.driver_connection.is_closed():
        raise DisconnectionError


@asynccontextmanager
async def raising_unavailable() -> AsyncIterator[None]:
    """Turns a database that does not answer into `Unavailable`."""
    try:
        yield
    except (OperationalError, InterfaceError, PoolTimeout, OSError, TimeoutError) as error:
        raise Unavailable(f"the database does not answer ({type(error).__name__})") from error
    except DBAPIError as error:
        state = str(getattr(error.orig, "sqlstate", None) or "")
        if not (error.connection_invalidated or state.startswith(AWAY)):
            raise
        raise Unavailable(f"the database cannot be used now ({error.orig})") from error


class Repository:
    """Reads and single changes, each a transaction by itself. Raises Unavailable."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        # A statement by itself is a transaction: beginning and ending one are two round trips more.
        self._autocommit = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._environments = Environments()

    @asynccontextmanager
    async def _reading(self) -> AsyncIterator[AsyncConnection]:
        async with raising_unavailable(), self._autocommit.connect() as connection:
            yield connection

    @asynccontextmanager
    async def _changing(self) -> AsyncIterator[AsyncConnection]:
        async with raising_unavailable(), self._engine.begin() as connection:
            yield connection


class TransactionPart:
    """What one area does within a transaction that others take part in."""

    def __init__(self, connection: AsyncConnection, environments: Environments) -> None:
        self._connection = connection
        self._environments = environments
