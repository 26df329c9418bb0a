"""A real bus and a real database for every test that asks for them."""

import secrets
from collections.abc import Iterator

import pytest

from assay_cli.embedded.postgres import PostgresServer
from assay_cli.embedded.process import Child
from assay_testkit.servers import RunningNats, private_folder, running_nats

pytest_plugins = ("assay_testkit.suite",)


@pytest.fixture(scope="session")
def nats_server() -> Iterator[RunningNats]:
    """A bus shared by the session: what other tests said is still on it."""
    with running_nats() as server:
        yield server


@pytest.fixture
def fresh_nats_server() -> Iterator[RunningNats]:
    """A bus of the test's own: empty, and free to be stopped, killed and started."""
    with running_nats() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A database server shared by the session."""
    with private_folder() as folder:
        server = PostgresServer(data=folder / "postgres", sockets=folder / "sockets")
        server.initialise()
        # A test's database need not survive the machine; a crash of the server it does survive.
        child = Child(server.process(folder / "postgres.log", fsync="off"))
        try:
            child.wait_ready()
            yield server
        finally:
            child.stop()


@pytest.fixture
def database_url(postgres_server: PostgresServer) -> Iterator[str]:
    """An empty database of the test's own, for SQLAlchemy with asyncpg."""
    name = f"test_{secrets.token_hex(6)}"
    postgres_server.ensure_database(name)
    yield postgres_server.url(name)
    postgres_server.query(f'drop database "{name}" with (force)')
