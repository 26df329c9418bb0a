"""Gives fake sandboxes."""

import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from assay_contracts.runs import NetworkMode, SandboxKind
from assay_sandboxes.fake import KIND
from assay_sandboxes.fake.files import FakeFiles, home_of
from assay_sandboxes.fake.sandbox import FakeSandbox, Reply
from assay_sandboxes.port import (
    Base,
    Environment,
    Limits,
    NotOffline,
    Sandbox,
    SandboxUnavailable,
)


class FakeProvider:
    """Gives fake sandboxes and remembers them."""

    def __init__(
        self,
        *,
        replies: Mapping[str, Reply] | None = None,
        unavailable: str | None = None,
        leaks: bool = False,
    ) -> None:
        """Set up what is to happen.

        Args:
            replies: what whole commands do.
            unavailable: no sandbox can be had, for this reason.
            leaks: a blocked network turns out not to be.
        """
        self.replies = replies or {}
        self.sandboxes: list[FakeSandbox] = []
        """Every sandbox ever opened."""
        self._unavailable = unavailable
        self._leaks = leaks

    @property
    def kind(self) -> SandboxKind:
        return KIND

    async def base(self) -> Base:
        return Base(
            name=f"{KIND}:1",
            python="/usr/bin/python3",
            python_version="3.11",
            commands=frozenset({"python3", "git"}),
        )

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
        limits = limits or Limits()
        if self._unavailable is not None:
            raise SandboxUnavailable(self._unavailable)
        if self._leaks and network == "blocked":
            raise NotOffline("a probe from inside got out; the sandbox was destroyed")
        identity = f"{name}-{secrets.token_hex(4)}"
        home = home_of(environment.layers if environment else ())
        sandbox = FakeSandbox(
            identity,
            FakeFiles(home, skills, limits.file_bytes),
            network=network,
            environment=environment,
            limits=limits,
            replies=self.replies,
        )
        self.sandboxes.append(sandbox)
        try:
            yield sandbox
        finally:
            sandbox.lose("the sandbox is closed")

    async def sweep(self) -> list[str]:
        """A fake leaves nothing behind."""
        return []

    async def close(self) -> None:
        """A fake holds nothing."""
