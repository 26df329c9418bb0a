"""Environments by name: opened, sealed, kept, deleted, and forgotten in time."""

import asyncio
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from assay_contracts.environments import EnvironmentLock, SealedEnvironment
from assay_sandboxes.bubblewrap.host.folders import age_s, remove_tree
from assay_sandboxes.environments.fetching import Fetcher
from assay_sandboxes.environments.layers import Layers
from assay_sandboxes.environments.sealing import Sealer
from assay_sandboxes.environments.store import Contents, EnvironmentRecord, EnvironmentStore
from assay_sandboxes.environments.unpacking import Bounds
from assay_sandboxes.port import (
    EndedRun,
    Environment,
    EnvironmentMissing,
    OpenedEnvironment,
    Sandbox,
    SandboxProvider,
    SandboxUnavailable,
)

_BARE: Final = "base"
_UNUSED_FOR_S: Final = 24 * 3600.0
"""Longer than any run takes; what is removed can be had again from the store."""


class Environments:
    """Every environment there is, of one provider, in one store."""

    def __init__(
        self,
        folder: Path,
        store: EnvironmentStore,
        provider: SandboxProvider,
        *,
        time_to_live: timedelta = timedelta(days=1),
        bounds: Bounds | None = None,
    ) -> None:
        """Work in `folder`, whose contents can be had again from the store."""
        self._folder = folder
        self._store = store
        self._provider = provider
        self._time_to_live = time_to_live
        self._contents = Contents(folder / "contents", store)
        self._layers = Layers(folder / "layers", self._contents, bounds or Bounds())
        self._sealer = Sealer(
            Fetcher(folder / "fetched", self._contents, provider), self._layers, self._contents
        )

    async def open(
        self, name: str | None, *, skill: str, without: Collection[str] = ()
    ) -> OpenedEnvironment:
        """What a run about a skill starts from, ready on this machine.

        Args:
            name: Of the environment; none means the base.
            skill: Of the files in it, the run sees those of this skill.
            without: Skills whose parts are left out.

        Raises:
            EnvironmentMissing: there is none of that name.
            SandboxUnavailable: it cannot be made ready.
        """
        base = await self._provider.base()
        lock = EnvironmentLock(base=base.name)
        if name is not None:
            record = await self._record(name)
            # On another base the same lock is another environment, and is known by another digest.
            lock = record.lock.model_copy(update={"base": base.name}).without(without)
        seen = lock.seen_by(skill)
        environment = Environment(
            name=name or _BARE, digest=seen.digest, layers=await self._layers.of(seen, base)
        )
        return OpenedEnvironment(lock=lock, environment=environment)

    async def seal(
        self, name: str, opened: OpenedEnvironment, sandbox: Sandbox, ran: EndedRun
    ) -> SealedEnvironment:
        """Have what a run installed be an environment of that name. Raises SandboxUnavailable."""
        base = await self._provider.base()
        try:
            lock, sealed = await self._sealer.seal(opened.lock, base, sandbox, ran)
            await self._store.write(name, EnvironmentRecord(lock=lock, made_at=datetime.now(UTC)))
        except OSError as error:
            raise SandboxUnavailable(f"the environment cannot be sealed: {error}") from error
        return sealed

    async def keep(self, name: str) -> None:
        """Let an environment outlive its time.

        Raises:
            EnvironmentMissing: there is none of that name.
            SandboxUnavailable: it cannot be kept now.
        """
        record = await self._record(name)
        try:
            for sha256 in sorted(record.lock.contents):
                if not await self._contents.keep(sha256):
                    raise SandboxUnavailable(f"a part of the environment {name} is missing")
            await self._store.write(name, record.model_copy(update={"kept": True}))
        except OSError as error:
            raise SandboxUnavailable(f"the environment {name} cannot be kept: {error}") from error

    async def delete(self, name: str) -> None:
        """Delete an environment; one that does not exist is deleted already."""
        try:
            await self._store.delete(name)
        except OSError as error:
            raise SandboxUnavailable(f"the environment {name} stays: {error}") from error

    async def _record(self, name: str) -> EnvironmentRecord:
        try:
            record = await self._store.read(name)
        except OSError as error:
            raise SandboxUnavailable(f"the environment {name} cannot be read: {error}") from error
        expired = record is not None and not record.kept and _is_past(record, self._time_to_live)
        if record is None or expired:
            raise EnvironmentMissing(
                f"there is no environment {name!r}: it was deleted or has expired; validate the "
                "skill again to make a new one"
            )
        return record

    async def sweep(self) -> list[str]:
        """Remove from this disk what nobody has used for a while; return what that was."""
        return await asyncio.to_thread(self._remove_unused)

    def _remove_unused(self) -> list[str]:
        removed = []
        for folder in ("contents", "layers", "fetched"):
            for path in (self._folder / folder).glob("*"):
                if age_s(path) > _UNUSED_FOR_S:
                    remove_tree(path) if path.is_dir() else path.unlink(missing_ok=True)
                    removed.append(f"{folder}/{path.name}")
        return removed


def _is_past(record: EnvironmentRecord, time_to_live: timedelta) -> bool:
    return datetime.now(UTC) - record.made_at > time_to_live
