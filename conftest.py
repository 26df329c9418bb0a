"""A real bus and a real database for every test that asks for them."""

import asyncio
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import nats
import pytest

from assay_cli.embedded.nats import BusUser, NatsServer, new_passwords
from assay_cli.embedded.ports import free_ports
from assay_cli.embedded.postgres import PostgresServer
from assay_cli.embedded.process import Child
from assay_servicekit.topology import apply_topology


class RunningNats:
    """A NATS server with the real users and permissions, and the topology applied."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "nats.log"
        self._server = NatsServer(
            folder=folder / "nats", port=free_ports(1)[0], passwords=new_passwords()
        )
        self._child = self._started()

    def apply_topology(self) -> None:
        # On a thread, because asyncio.run would take the event loop away from pytest's.
        with ThreadPoolExecutor(1) as pool:
            pool.submit(lambda: asyncio.run(self._apply_topology())).result()

    def url(self, user: BusUser) -> str:
        """Where `user` connects, with its password. Its inboxes must begin with `_IN.<user>`."""
        return self._server.url(user)

    def stop(self) -> None:
        """Stop the server, keeping its port and its streams for `start`."""
        self._child.stop()

    def kill(self) -> None:
        """As `stop`, without a chance to tidy up."""
        self._child.kill()

    def start(self) -> None:
        self._child = self._started()

    async def _apply_topology(self) -> None:
        connection = await nats.connect(self.url("scorer"), inbox_prefix="_IN.scorer")
        try:
            await apply_topology(connection.jetstream())
        finally:
            await connection.close()

    def _started(self) -> Child:
        child = Child(self._server.process(self._log))
        child.wait_ready()
        return child


@contextmanager
def _private_folder() -> Iterator[Path]:
    # pytest's own temporary folders are too deep for a socket's path.
    folder = Path(tempfile.mkdtemp(prefix="assay-test-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def _running_nats() -> Iterator[RunningNats]:
    with _private_folder() as folder:
        server = RunningNats(folder)
        try:
            server.apply_topology()
            yield server
        finally:
            server.stop()


@pytest.fixture(scope="session")
def nats_server() -> Iterator[RunningNats]:
    """A bus shared by the session: what other tests said is still on it."""
    with _running_nats() as server:
        yield server


@pytest.fixture
def fresh_nats_server() -> Iterator[RunningNats]:
    """A bus of the test's own: empty, and free to be stopped, killed and started."""
    with _running_nats() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A database server shared by the session."""
    with _private_folder() as folder:
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
