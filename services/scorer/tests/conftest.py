"""A database with all tables and a bus with nothing on it, for every test that asks for them."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from pydantic import SecretStr
from sqlalchemy.ext.asyncio import AsyncEngine

from assay_cli.embedded.postgres import PostgresServer
from assay_contracts.topology import BUCKETS, STREAMS, ServiceName
from assay_scorer.adapters.database import open_engine
from assay_scorer.adapters.migrate import migrate
from assay_servicekit.bus import Bus
from assay_servicekit.settings import ServiceSettings
from assay_testkit.scorer_on_database import ReportsInMemory, Scorer, SettableClock
from assay_testkit.servers import RunningNats


@pytest.fixture(scope="session")
def migrated_template(postgres_server: PostgresServer) -> str:
    """The name of a database with all tables, for others to be copied from."""
    name = "migrated_template"
    postgres_server.ensure_database(name)

    async def make_tables() -> None:
        engine = open_engine(postgres_server.url(name))
        await migrate(engine)
        await engine.dispose()

    # On a thread, because asyncio.run would take the event loop away from pytest's.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: asyncio.run(make_tables())).result()
    return name


@pytest.fixture
def migrated_url(postgres_server: PostgresServer, migrated_template: str) -> Iterator[str]:
    """A database of the test's own, with all tables."""
    name = f"test_{secrets.token_hex(6)}"
    postgres_server.query(
        f'create database "{name}" template "{migrated_template}" strategy file_copy'
    )
    yield postgres_server.url(name)
    postgres_server.query(f'drop database "{name}" with (force)')


@pytest.fixture
async def engine(migrated_url: str) -> AsyncIterator[AsyncEngine]:
    """A database of the test's own, with all tables."""
    engine = open_engine(migrated_url)
    yield engine
    await engine.dispose()


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def reports() -> ReportsInMemory:
    return ReportsInMemory()


@pytest.fixture
def scorer(engine: AsyncEngine, clock: SettableClock, reports: ReportsInMemory) -> Scorer:
    return Scorer(engine, clock=clock, reports=reports)


@pytest.fixture
async def emptied_nats_server(nats_server: RunningNats) -> RunningNats:
    """The shared bus, with all streams and buckets and nothing in them."""
    bus = await _connected(nats_server)
    names = [*(stream.name for stream in STREAMS), *(f"OBJ_{bucket.name}" for bucket in BUCKETS)]
    for name in names:
        await bus.jetstream().purge_stream(name)
    await bus.stop()
    return nats_server


@pytest.fixture
async def bus(emptied_nats_server: RunningNats) -> AsyncIterator[Bus]:
    """The scorer's connection to an empty bus."""
    bus = await _connected(emptied_nats_server)
    yield bus
    await bus.stop()


@pytest.fixture
async def ingest(emptied_nats_server: RunningNats) -> AsyncIterator[Bus]:
    """The connection of who writes bundles."""
    bus = await _connected(emptied_nats_server, "ingest")
    yield bus
    await bus.stop()


@pytest.fixture
async def runner(emptied_nats_server: RunningNats) -> AsyncIterator[Bus]:
    """The connection of who writes traces."""
    bus = await _connected(emptied_nats_server, "sandbox-runner")
    yield bus
    await bus.stop()


async def _connected(server: RunningNats, service: ServiceName = "scorer") -> Bus:
    bus = Bus(ServiceSettings(nats_url=SecretStr(server.url(service))), service)
    await bus.connect()
    return bus
