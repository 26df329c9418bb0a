"""Gives fake sandboxes."""

import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from assay_contracts.runs import NetworkMode, SandboxKind
from assay_sandboxes.fake import KIND
from assay_sandboxes.fake.files import Environment, FakeFiles
from assay_sandboxes.fake.sandbox import FakeSandbox, Reply
from assay_sandboxes.port import (
    Limits,
    NotOffline,
    Sandbox,
    SandboxUnavailable,
    SnapshotMissing,
)


class FakeProvider:
    """Gives fake sandboxes and remembers them."""

    def __init__(
        self,
        *,
        replies: Mapping[str, Reply] | None = None,
        unavailable: str | None = None,
        leaks: bool = False,
        snapshot_ttl: timedelta = timedelta(days=1),
    ) -> None:
        """Set up what is to happen.

        Args:
            replies: what whole commands do.
            unavailable: no sandbox can be had, for this reason.
            leaks: a blocked network turns out not to be.
            snapshot_ttl: how long a snapshot lives at most.
        """
        self.replies = replies or {}
        self.sandboxes: list[FakeSandbox] = []
        """Every sandbox ever opened."""
        self.snapshots: dict[str, Environment] = {}
        self.kept: set[str] = set()
        self._unavailable = unavailable
        self._leaks = leaks
        self._snapshot_ttl = snapshot_ttl

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
        limits = limits or Limits()
        if self._unavailable is not None:
            raise SandboxUnavailable(self._unavailable)
        if self._leaks and network == "blocked":
            raise NotOffline("a probe from inside got out; the sandbox was destroyed")
        identity = f"{name}-{secrets.token_hex(4)}"
        sandbox = FakeSandbox(
            identity,
            FakeFiles(self._environment(base), skills, limits.file_bytes),
            network=network,
            base=base,
            limits=limits,
            replies=self.replies,
            keep=self.snapshots.__setitem__,
        )
        self.sandboxes.append(sandbox)
        try:
            yield sandbox
        finally:
            sandbox.lose("the sandbox is closed")

    def _environment(self, base: str | None) -> Environment:
        if base is None:
            return Environment()
        if base not in self.snapshots:
            raise SnapshotMissing(f"there is no snapshot {base!r}")
        return self.snapshots[base].copy()

    async def keep_snapshot(self, name: str) -> None:
        self._environment(name)
        self.kept.add(name)

    async def delete_snapshot(self, name: str) -> None:
        self.snapshots.pop(name, None)
        self.kept.discard(name)

    async def sweep(self) -> list[str]:
        now = datetime.now(UTC)
        past = [
            name
            for name, taken in self.snapshots.items()
            if name not in self.kept and now - taken.kept_at > self._snapshot_ttl
        ]
        for name in past:
            del self.snapshots[name]
        return past

    async def close(self) -> None:
        """A fake holds nothing."""
