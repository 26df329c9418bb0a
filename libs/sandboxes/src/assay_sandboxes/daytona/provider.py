"""Sandboxes at Daytona."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final

from daytona import AsyncDaytona, DaytonaConfig

from assay_contracts.runs import NetworkMode, SandboxKind
from assay_sandboxes.daytona import KIND
from assay_sandboxes.daytona.client import TITLE, DaytonaMachine, DaytonaService
from assay_sandboxes.daytona.snapshots import Snapshots
from assay_sandboxes.egress import EgressRules
from assay_sandboxes.network_probe import Probe
from assay_sandboxes.port import Limits, Sandbox, SandboxUnavailable
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

    @property
    def kind(self) -> SandboxKind:
        return KIND

    @asynccontextmanager
    async def open(
        self,
        *,
        name: str,
        skills: Path,
        network: NetworkMode,
        base: str | None = None,
        limits: Limits | None = None,
    ) -> AsyncIterator[Sandbox]:
        connection = self._connected()
        snapshot = await connection.snapshots.ready(base) if base else self._account.snapshot
        async with connection.leases.hold(
            name, snapshot=snapshot, blocked=network == "blocked"
        ) as machine:
            sandbox = RemoteSandbox(
                machine.name,
                _KIND,
                GuestClient(machine, self._retries),
                limits or Limits(),
                base=base,
                take_snapshot=partial(connection.snapshots.take, machine.sandbox),
            )
            try:
                await sandbox.start(skills, network, self._probe)
                yield sandbox
            finally:
                sandbox.end()

    async def keep_snapshot(self, name: str) -> None:
        connection = self._connected()
        if await connection.snapshots.is_kept(name):
            return
        snapshot = await connection.snapshots.ready(name)
        async with connection.leases.hold(
            f"keep-{name}", snapshot=snapshot, blocked=True
        ) as machine:
            await connection.snapshots.keep(machine.sandbox, name)

    async def delete_snapshot(self, name: str) -> None:
        await self._connected().snapshots.delete(name)

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
