"""Sandboxes at Daytona."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from daytona import AsyncDaytona, DaytonaConfig

from assay_contracts.runs import NetworkMode, SandboxKind
from assay_sandboxes.daytona import KIND
from assay_sandboxes.daytona.client import TITLE, DaytonaMachine, DaytonaService
from assay_sandboxes.daytona.snapshots import Snapshots
from assay_sandboxes.egress import EgressRules
from assay_sandboxes.network_probe import Probe
from assay_sandboxes.port import Base, Environment, Limits, Sandbox, SandboxUnavailable
from assay_sandboxes.remote.guest_client import GuestClient
from assay_sandboxes.remote.leases import Leases, LeaseTerms
from assay_sandboxes.remote.retries import Retries, RetryPolicy
from assay_sandboxes.remote.sandbox import RemoteKind, RemoteSandbox

_KIND: Final = RemoteKind(
    kind=KIND,
    service=TITLE,
    blocked_by="network_block_all",
    # Daytona's daemon does what it is asked by anybody.
    refused_ports=(2280, 22220, 22222),
)

_OURS: Final = Limits(command_seconds=600.0, file_bytes=16 * 1024**3)
"""Of sandboxes that nothing of a skill runs in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Where and as whom Daytona is used."""

    api_key: str
    api_url: str | None = None
    """The service's own where there is none."""
    target: str | None = None
    """The region."""
    snapshot: str | None = None
    """The base environment; the account's default where there is none."""
    egress: EgressRules = field(default_factory=EgressRules)
    """What open sandboxes may reach; Daytona holds to it where nothing but that is allowed."""
    namespace: str = "assay"
    """Begins the names of all that is made, and tells it from what others make."""


@dataclass(frozen=True, slots=True)
class _Connection:
    """What lives as long as the client does."""

    client: AsyncDaytona
    leases: Leases[DaytonaMachine]
    snapshots: Snapshots


class DaytonaProvider:
    """Sandboxes at Daytona, through its own SDK, with one client for all of them.

    Sandboxes are ephemeral and end by themselves after `sandbox_ttl`; `most` of them exist at
    once. A blocked network is Daytona's (`network_block_all`) and is believed only once a probe
    from inside has failed to get out.
    """

    def __init__(
        self,
        account: Account,
        *,
        most: int = 5,
        sandbox_ttl: timedelta = timedelta(hours=1),
        snapshot_ttl: timedelta = timedelta(days=1),
        grace: timedelta = timedelta(minutes=2),
        probe: Probe | None = None,
        policy: RetryPolicy | None = None,
    ) -> None:
        self._account = account
        self._terms = LeaseTerms(
            namespace=account.namespace, time_to_live=sandbox_ttl, most=most, grace=grace
        )
        self._snapshot_ttl = snapshot_ttl
        self._probe = probe or Probe(seconds=3.0, silence_is_proof=True)
        self._retries = Retries(TITLE, policy or RetryPolicy())
        self._connection: _Connection | None = None
        self._base: Base | None = None
        self._one_at_a_time = asyncio.Lock()
        """Whoever needs the base or a snapshot that nobody has made yet waits for who makes it."""

    @property
    def kind(self) -> SandboxKind:
        return KIND

    async def base(self) -> Base:
        async with self._one_at_a_time:
            if self._base is None:
                async with self._bare("base") as (_, sandbox):
                    self._base = await sandbox.base()
            return self._base

    @asynccontextmanager
    async def open(
        self,
        *,
        name: str,
        skills: Path,
        network: NetworkMode,
        environment: Environment | None = None,
        limits: Limits | None = None,
    ) -> AsyncIterator[Sandbox]:
        connection = self._connected()
        snapshot = self._account.snapshot
        if environment is not None and environment.layers:
            snapshot = await self._built(environment)
        async with connection.leases.hold(
            name, snapshot=snapshot, blocked=network == "blocked"
        ) as machine:
            sandbox = RemoteSandbox(
                machine.name,
                _KIND,
                GuestClient(machine, self._retries),
                limits or Limits(),
                environment=environment,
            )
            try:
                await sandbox.start(skills, network, self._probe)
                yield sandbox
            finally:
                sandbox.end()

    async def _built(self, environment: Environment) -> str:
        """The snapshot of an environment, by its digest; made from its layers if it is missing."""
        snapshots = self._connected().snapshots
        name = f"env-{environment.digest}"
        async with self._one_at_a_time:
            found = await snapshots.ready(name)
            if found is None:
                async with self._bare("build") as (machine, sandbox):
                    await sandbox.lay_in(environment.layers)
                    await sandbox.clear()
                    await snapshots.take(machine.sandbox, name)
                found = snapshots.full_name(name)
        return found

    @asynccontextmanager
    async def _bare(self, purpose: str) -> AsyncIterator[tuple[DaytonaMachine, RemoteSandbox]]:
        """A sandbox with nothing in it, for our own work."""
        hold = self._connected().leases.hold
        async with hold(purpose, snapshot=self._account.snapshot, blocked=True) as machine:
            guest = GuestClient(machine, self._retries)
            sandbox = RemoteSandbox(machine.name, _KIND, guest, _OURS, environment=None)
            try:
                with TemporaryDirectory() as no_skills:
                    await sandbox.start(Path(no_skills), "open", self._probe)
                yield machine, sandbox
            finally:
                sandbox.end()

    async def sweep(self) -> list[str]:
        connection = self._connected()
        swept = await connection.leases.sweep()
        removed = [*swept.removed, *await connection.snapshots.sweep()]
        if swept.stuck:
            raise SandboxUnavailable(
                f"sandboxes cannot be destroyed: {', '.join(swept.stuck)}; removed besides: "
                f"{', '.join(removed) or 'nothing'}"
            )
        return removed

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.leases.drain()
            async with asyncio.timeout(self._retries.policy.request_timeout):
                await connection.client.close()  # type: ignore[no-untyped-call]  # the SDK's own

    def _connected(self) -> _Connection:
        """The one client of this process, made in its event loop."""
        if self._connection is None:
            config = DaytonaConfig(
                api_key=self._account.api_key,
                api_url=self._account.api_url,
                target=self._account.target,
                connection_pool_maxsize=None,
            )
            client = AsyncDaytona(config)
            self._connection = _Connection(
                client,
                Leases(DaytonaService(client, self._account.egress), self._terms, self._retries),
                Snapshots(
                    client,
                    namespace=self._account.namespace,
                    time_to_live=self._snapshot_ttl,
                    retries=self._retries,
                ),
            )
        return self._connection
