"""Snapshots at Daytona, under names of our own; each can be made again."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final, TypeVar

from daytona import AsyncDaytona, AsyncSandbox

from assay_sandboxes.daytona.client import daytona_faults
from assay_sandboxes.host_processes import uninterrupted
from assay_sandboxes.names import check_name
from assay_sandboxes.port import SandboxUnavailable
from assay_sandboxes.remote.retries import FAULTS, Retries, described, may_pass
from assay_sandboxes.remote.service import RemoteMissing

T = TypeVar("T")

_FAILED: Final = frozenset({"error", "build_failed"})
_PAGE: Final = 100


class Snapshots:
    """Takes, finds and deletes snapshots."""

    def __init__(
        self, client: AsyncDaytona, *, namespace: str, time_to_live: timedelta, retries: Retries
    ) -> None:
        self._service = client.snapshot
        self._prefix = f"{namespace}-"
        self._time_to_live = time_to_live
        self._retries = retries
        self._policy = retries.policy

    def full_name(self, name: str) -> str:
        """Under which Daytona knows it.

        Raises:
            ValueError: nothing can have that name.
        """
        return self._prefix + check_name(name)

    async def take(self, sandbox: AsyncSandbox, name: str) -> None:
        """Keep a sandbox's files under `name`: whole and ready for use, or not at all."""
        full_name = self.full_name(name)
        await self._delete(full_name)
        try:
            await self._create(sandbox, full_name)
            await self._until_active(full_name)
        except BaseException:
            await uninterrupted(self._delete(full_name))
            raise

    async def _create(self, sandbox: AsyncSandbox, full_name: str) -> None:
        backoff = self._retries.backoff(self._policy.request_patience)
        while True:
            try:
                with daytona_faults():
                    async with asyncio.timeout(self._policy.snapshot_patience):
                        return await sandbox.create_snapshot(
                            full_name, timeout=self._policy.snapshot_patience
                        )
            except FAULTS as error:
                failure = error
            # The answer may have been lost, and not what was asked for.
            if await self._state(full_name) is not None:
                return None
            if not may_pass(failure) or not await backoff.pause(failure):
                raise SandboxUnavailable(
                    f"Daytona takes no snapshot of the sandbox: {described(failure)}"
                ) from failure

    async def ready(self, name: str) -> str | None:
        """Have a snapshot ready to start from.

        Returns:
            The name that Daytona knows it under; none if there is none of that name.

        Raises:
            SandboxUnavailable: it is of no use.
        """
        full_name = self.full_name(name)
        state = await self._state(full_name)
        if state is None or state in _FAILED:
            return None
        if state == "inactive":
            await self._ask("activate a snapshot", lambda: self._service.activate(full_name))
        await self._until_active(full_name)
        return full_name

    async def _until_active(self, full_name: str) -> None:
        backoff = self._retries.backoff(self._policy.snapshot_patience)
        while (state := await self._state(full_name)) != "active":
            if state in _FAILED or state is None:
                raise SandboxUnavailable(f"the snapshot {full_name} ended as {state or 'missing'}")
            if not await backoff.pause():
                raise SandboxUnavailable(
                    f"the snapshot {full_name} was still {state} after "
                    f"{self._policy.snapshot_patience:g} s"
                )

    async def _state(self, full_name: str) -> str | None:
        try:
            found = await self._ask("find a snapshot", lambda: self._service.get(full_name))
        except RemoteMissing:
            return None
        return str(found.state.value)

    async def _delete(self, full_name: str) -> None:
        backoff = self._retries.backoff(self._policy.request_patience)
        while True:
            try:
                state = await self._state(full_name)
                if state is None:
                    return
                if state != "removing":
                    await self._ask("delete a snapshot", lambda: self._service.delete(full_name))
            except RemoteMissing:
                return
            if not await backoff.pause():
                raise SandboxUnavailable(f"the snapshot {full_name} cannot be deleted")

    async def _ask(self, what: str, ask: Callable[[], Awaitable[T]]) -> T:
        async def asked() -> T:
            with daytona_faults():
                return await ask()

        return await self._retries.ask(what, asked)

    async def sweep(self) -> list[str]:
        """Delete snapshots past their time; return their names."""
        removed = []
        for full_name in await self._past_their_time():
            await self._delete(full_name)
            removed.append(full_name.removeprefix(self._prefix))
        return removed

    async def _past_their_time(self) -> list[str]:
        latest = datetime.now(UTC) - self._time_to_live
        past: list[str] = []
        page, pages = 1, 1
        while page <= pages:
            found = await self._ask(
                "list snapshots", partial(self._service.list, page=page, limit=_PAGE)
            )
            past += [
                each.name
                for each in found.items
                if each.name.startswith(self._prefix) and each.created_at <= latest
            ]
            page, pages = page + 1, int(found.total_pages)
        return past
