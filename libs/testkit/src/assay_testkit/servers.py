"""A real bus to run tests against, and a folder for what servers keep."""

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import nats

from assay_cli.embedded.nats import NatsServer, new_passwords
from assay_cli.embedded.ports import free_ports
from assay_cli.embedded.process import Child
from assay_contracts.topology import JETSTREAM_PREFIX, BusUser
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
        """Where `user` connects, with its password."""
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
        connection = await nats.connect(self.url("scorer"))
        try:
            await apply_topology(connection.jetstream(prefix=JETSTREAM_PREFIX))
        finally:
            await connection.close()

    def _started(self) -> Child:
        child = Child(self._server.process(self._log))
        child.wait_ready()
        return child


@contextmanager
def private_folder() -> Iterator[Path]:
    """A temporary folder whose path is short enough for a socket's, as pytest's are not."""
    folder = Path(tempfile.mkdtemp(prefix="assay-test-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def running_nats() -> Iterator[RunningNats]:
    """A bus with the topology applied and nothing on it."""
    with private_folder() as folder:
        server = RunningNats(folder)
        try:
            server.apply_topology()
            yield server
        finally:
            server.kill()
