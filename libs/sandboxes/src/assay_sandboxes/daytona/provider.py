"""Sandboxes at Daytona."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Literal

from daytona import AsyncDaytona, DaytonaConfig

from assay_contracts.runs import NetworkMode
from assay_sandboxes.daytona.snapshots import Snapshots
from assay_sandboxes.network_probe import Probe
from assay_sandboxes.port import Limits, Sandbox, SandboxUnavailable
from assay_sandboxes.remote.guest_client import Questions
from assay_sandboxes.remote.leases import Leases, Terms
from assay_sandboxes.remote.retries import Pace
from assay_sandboxes.remote.sandbox import DaytonaSandbox


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
    namespace: str = "assay"
    """Begins the names of all that is made, and tells it from what others make."""


@dataclass(frozen=True, slots=True)
class _Open:
    """What lives as long as the client does."""

    client: AsyncDaytona
    leases: Leases
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
        pace: Pace | None = None,
    ) -> None:
        self._account = account
        self._terms = Terms(
            namespace=account.namespace, time_to_live=sandbox_ttl, most=most, grace=grace
        )
        self._snapshot_ttl = snapshot_ttl
        self._probe = probe or Probe(seconds=3.0, silence=True)
        self._pace = pace or Pace()
        self._opened: _Open | None = None

    @property
    def kind(self) -> Literal["daytona"]:
        return "daytona"

    def open(
        self,
        *,
        name: str,
        skills: Path,
        network: NetworkMode,
        base: str | None = None,
        limits: Limits | None = None,
    ) -> AbstractAsyncContextManager[Sandbox]:
        return self._open(name, skills, network, base, limits or Limits())

    @asynccontextmanager
    async def _open(
        self, name: str, skills: Path, network: NetworkMode, base: str | None, limits: Limits
    ) -> AsyncIterator[Sandbox]:
        opened = self._connected()
        snapshot = await opened.snapshots.ready(base) if base else self._account.snapshot
        async with opened.leases.hold(
            name, snapshot=snapshot, blocked=network == "blocked"
        ) as leased:
            questions = Questions(leased, self._pace)
            sandbox = DaytonaSandbox(questions, opened.snapshots, limits, base=base)
            try:
                await sandbox.start(skills, network, self._probe)
                yield sandbox
            finally:
                sandbox.end()

    async def keep_snapshot(self, name: str) -> None:
        opened = self._connected()
        if await opened.snapshots.is_kept(name):
            return
        snapshot = await opened.snapshots.ready(name)
        async with opened.leases.hold(f"keep-{name}", snapshot=snapshot, blocked=True) as leased:
            await opened.snapshots.keep(leased, name)

    async def delete_snapshot(self, name: str) -> None:
        await self._connected().snapshots.delete(name)

    async def sweep(self) -> list[str]:
        opened = self._connected()
        swept = await opened.leases.sweep()
        removed = [*swept.removed, *await opened.snapshots.sweep()]
        if swept.stuck:
            raise SandboxUnavailable(
                f"sandboxes cannot be destroyed: {', '.join(swept.stuck)}; removed besides: "
                f"{', '.join(removed) or 'nothing'}"
            )
        return removed

    async def close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened.leases.drain()
            async with asyncio.timeout(self._pace.request_timeout):
                await opened.client.close()  # type: ignore[no-untyped-call]

    def _connected(self) -> _Open:
        """The one client of this process, made in its event loop."""
        if self._opened is None:
            config = DaytonaConfig(
                api_key=self._account.api_key,
                api_url=self._account.api_url,
                target=self._account.target,
                connection_pool_maxsize=None,
            )
            client = AsyncDaytona(config)
            self._opened = _Open(
                client,
                Leases(client, self._terms, self._pace),
                Snapshots(
                    client,
                    namespace=self._account.namespace,
                    time_to_live=self._snapshot_ttl,
                    pace=self._pace,
                ),
            )
        return self._opened
