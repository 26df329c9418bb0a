"""The whole of Assay on one machine: bus, database and five services, each a process."""

import asyncio
import http.client
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from assay_cli.embedded.data import DataFolder
from assay_cli.embedded.nats import NatsServer
from assay_cli.embedded.ports import LOOPBACK, free_ports, is_free
from assay_cli.embedded.postgres import PostgresServer, socket_path_fits
from assay_cli.embedded.process import ProcessSpec, StartFailed
from assay_cli.embedded.supervisor import ProcessEvent, Supervisor
from assay_cli.embedded.tokens import gateway_environment
from assay_contracts.topology import SERVICES, BusUser, ServiceName

DATABASE = "assay"
READY_TIMEOUT_S = 5.0
SHORT_PATHS = "/tmp"  # noqa: S108  # what is made here is private
OURS: Final = frozenset(
    {
        "NATS_URL",
        "DATABASE_URL",
        "ASSAY_ADMIN_TOKEN",
        "ASSAY_JWT_SECRET",
        "ASSAY_HTTP_HOST",
        "ASSAY_HTTP_PORT",
    }
)
"""Variables that each service is given by the stack, or is not meant to see at all."""
SERVICES_WITH_MODELS: Final[frozenset[ServiceName]] = frozenset({"judge", "sandbox-runner"})
"""They get the caller's whole environment, for the keys that model and sandbox providers read."""
PLAIN_VARIABLES: Final = frozenset({"HOME", "LANG", "PATH", "TMPDIR", "TZ", "USER"})
PLAIN_PREFIXES: Final = ("ASSAY_", "LC_", "OTEL_", "PYTHON", "SSL_CERT_")


class Stack:
    """An async context manager: ready inside, gone without trace of a process outside.

    Raises DataInUse, StartFailed or OSError on entry. Enter it on a thread that lives on,
    the main one as a rule: its processes die with that thread.
    """

    def __init__(
        self,
        data: Path,
        *,
        port: int | None = None,
        admin_token: str | None = None,
        on_event: Callable[[ProcessEvent], None] = lambda _: None,
    ) -> None:
        """`port` is the gateway's, by default a free one; `admin_token` goes over the kept one."""
        self.data = DataFolder(data.absolute())
        self._port = port
        self._given_token = admin_token
        self._supervisor = Supervisor(on_event)
        self._exit = AsyncExitStack()
        self._ports: dict[ServiceName, int] = {}
        self._metrics_ports: dict[ServiceName, int] = {}
        self._nats: NatsServer
        self._token_settings: dict[str, str] = {}
        self.admin_token: str

    @property
    def url(self) -> str:
        """The gateway's address."""
        return self.health_url("gateway")

    @property
    def observer_url(self) -> str:
        """Where other systems read public facts from the bus, with name and password."""
        return self.bus_url("observer")

    def bus_url(self, user: BusUser) -> str:
        return self._nats.url(user)

    def health_url(self, service: ServiceName) -> str:
        """The address below which the service answers /livez and /readyz."""
        return f"http://{LOOPBACK}:{self._ports[service]}"

    def metrics_url(self, service: ServiceName) -> str:
        return f"http://{LOOPBACK}:{self._metrics_ports[service]}/metrics"

    def pid(self, process: ServiceName | str) -> int:
        """Of a service, `nats` or `postgres`; it changes when the process is started again."""
        return self._supervisor.pid(process)

    def pids(self) -> dict[str, int]:
        return {name: self.pid(name) for name in ("nats", "postgres", *SERVICES)}

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as undo:
            undo.enter_context(self.data.held())
            kept = self.data.secrets()
            self.admin_token = self._given_token or kept.admin_token
            # Whoever names an issuer of their own wants its tokens, not ours.
            if kept.jwt_secret and "ASSAY_JWKS_URL" not in os.environ:
                self._token_settings = gateway_environment(kept.jwt_secret)
            nats_port = self._choose_ports()
            self._nats = NatsServer(
                folder=self.data.nats, port=nats_port, passwords=kept.bus_passwords
            )
            postgres = PostgresServer(data=self.data.postgres, sockets=self._sockets(undo))
            undo.push_async_callback(self._supervisor.stop)
            await self._start_servers(postgres)
            await self._start_services(postgres.url(DATABASE))
            self._exit = undo.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._exit.aclose()

    def _choose_ports(self) -> int:
        nats_port, *ports = free_ports(1 + 2 * len(SERVICES))
        self._ports = dict(zip(SERVICES, ports[::2], strict=True))
        self._metrics_ports = dict(zip(SERVICES, ports[1::2], strict=True))
        if self._port is not None:
            if not is_free(self._port):
                raise StartFailed(
                    f"Port {self._port} is in use: stop what listens there, or name another one"
                    " with --port."
                )
            self._ports["gateway"] = self._port
        return nats_port

    def _sockets(self, undo: AsyncExitStack) -> Path:
        if socket_path_fits(self.data.sockets):
            return self.data.sockets
        folder = tempfile.TemporaryDirectory(prefix="assay-", dir=SHORT_PATHS)
        return Path(undo.enter_context(folder))

    async def _start_servers(self, postgres: PostgresServer) -> None:
        await asyncio.to_thread(postgres.initialise)
        await self._supervisor.start(
            self._nats.process(self.data.log("nats")), postgres.process(self.data.log("postgres"))
        )
        await asyncio.to_thread(postgres.ensure_database, DATABASE)

    async def _start_services(self, database_url: str) -> None:
        extra: dict[ServiceName, dict[str, str]] = {
            "scorer": {
                "ASSAY_SIGNING_KEY_FILE": str(self.data.ensure_signing_key()),
                "DATABASE_URL": database_url,
            },
            "gateway": {"ASSAY_ADMIN_TOKEN": self.admin_token, **self._token_settings},
        }
        await self._supervisor.start(
            *(self._service(name, extra.get(name, {})) for name in SERVICES)
        )

    def _service(self, name: ServiceName, extra: Mapping[str, str]) -> ProcessSpec:
        port = self._ports[name]
        return ProcessSpec(
            name=name,
            # -P: the folder that the command was called from may be a stranger's.
            command=(sys.executable, "-P", "-m", f"assay_{name.replace('-', '_')}"),
            env={
                **inherited_environment(name, os.environ),
                "NATS_URL": self.bus_url(name),
                "ASSAY_HTTP_HOST": LOOPBACK,
                "ASSAY_HTTP_PORT": str(port),
                "ASSAY_METRICS_HOST": LOOPBACK,
                "ASSAY_METRICS_PORT": str(self._metrics_ports[name]),
                "ASSAY_STATE_DIR": str(self.data.state(name)),
                "PYTHONUNBUFFERED": "1",
                **extra,
            },
            log=self.data.log(name),
            ready=lambda _pid: _answers_ready(port),
        )


def inherited_environment(service: ServiceName, caller: Mapping[str, str]) -> dict[str, str]:
    """What a service may see of the environment that the stack was started in."""
    return {
        name: value
        for name, value in caller.items()
        if name not in OURS
        and (
            service in SERVICES_WITH_MODELS
            or name in PLAIN_VARIABLES
            or (name.startswith(PLAIN_PREFIXES) and not name.endswith("_KEY"))
        )
    }


def _answers_ready(port: int) -> bool:
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=READY_TIMEOUT_S)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
