"""Having sandboxes at Daytona without ever leaving one behind.

Every attempt at a sandbox has a name of its own, so that what came of it can be found even where
the answer was lost. It is destroyed by that name on every way out. Labels tell whose it is and
until when it may live, for sweepers here and elsewhere; and Daytona itself ends it after its time.
"""

import asyncio
import re
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from daytona import (
    AsyncDaytona,
    AsyncSandbox,
    CreateSandboxFromSnapshotParams,
    DaytonaError,
    DaytonaNotFoundError,
    ListSandboxesQuery,
)

from assay_sandboxes.host_processes import uninterrupted
from assay_sandboxes.port import SandboxUnavailable
from assay_sandboxes.remote.lease_owner import Owner
from assay_sandboxes.remote.retries import (
    Backoff,
    Lost,
    Pace,
    is_passing,
    is_unanswered,
    told,
)

_NAMESPACE: Final = "assay-namespace"
_OWNER: Final = "assay-owner"
_EXPIRES: Final = "assay-expires"
_PURPOSE_CHARS: Final = 40
_ENDED: Final = frozenset({"destroying", "destroyed"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """On what terms sandboxes are had."""

    namespace: str
    """Whose they are: a sweep looks at no others."""
    time_to_live: timedelta
    """After this, a sandbox is ended whatever it is doing."""
    most: int
    """How many at once, from the first attempt until each is destroyed."""
    grace: timedelta
    """A sandbox of our own that nobody holds is spared for this long: it may be under way."""


@dataclass(frozen=True, slots=True)
class Swept:
    removed: list[str]
    stuck: list[str]


class Leases:
    """Sandboxes that this process has."""

    def __init__(self, client: AsyncDaytona, terms: Terms, pace: Pace) -> None:
        self._client = client
        self._terms = terms
        self._pace = pace
        self._owner = Owner.this()
        self._slots = asyncio.Semaphore(terms.most)
        self._held: set[str] = set()
        self._lingering: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def hold(
        self, purpose: str, *, snapshot: str | None, blocked: bool
    ) -> AsyncIterator[AsyncSandbox]:
        """A new sandbox that has started, destroyed on every way out.

        Raises:
            SandboxUnavailable: none can be had.
        """
        await self._slots.acquire()
        ours = _Tenure()
        try:
            yield await self._create(purpose, snapshot, ours, blocked=blocked)
        finally:
            await uninterrupted(self._end(ours))

    async def _create(
        self, purpose: str, snapshot: str | None, ours: "_Tenure", *, blocked: bool
    ) -> AsyncSandbox:
        backoff = Backoff(self._pace, self._pace.create_patience)
        while True:
            ours.name, ours.is_lost = self._new_name(purpose), True
            self._held.add(ours.name)
            try:
                async with asyncio.timeout(self._pace.create_timeout + 5):
                    sandbox = await self._client.create(
                        self._params(ours.name, snapshot, blocked=blocked),
                        timeout=self._pace.create_timeout,
                    )
                ours.is_lost = False
                return sandbox  # noqa: TRY300
            except (DaytonaError, *Lost) as error:
                ours.is_lost = is_unanswered(error)
                failure = error
            if not is_passing(failure):
                raise SandboxUnavailable(f"Daytona refuses a sandbox: {told(failure)}") from failure
            # One attempt at a time is under way: this one's remains go first.
            if not await self._destroy(ours.name, is_lost=ours.is_lost):
                raise SandboxUnavailable(
                    f"a sandbox that failed to start cannot be destroyed: {ours.name}"
                ) from failure
            self._held.discard(ours.name)
            ours.name = None
            if not await backoff.pause(failure):
                raise SandboxUnavailable(f"Daytona gives no sandbox: {told(failure)}") from failure

    def _new_name(self, purpose: str) -> str:
        plain = re.sub(r"[^a-z0-9]+", "-", purpose.lower()).strip("-")[-_PURPOSE_CHARS:]
        return f"{self._terms.namespace}-{plain}-{secrets.token_hex(5)}"

    def _params(
        self, name: str, snapshot: str | None, *, blocked: bool
    ) -> CreateSandboxFromSnapshotParams:
        minutes = max(1, round(self._terms.time_to_live.total_seconds() / 60))
        expires = datetime.now(UTC) + self._terms.time_to_live
        return CreateSandboxFromSnapshotParams(
            name=name,
            snapshot=snapshot,
            network_block_all=blocked,
            ephemeral=True,
            auto_stop_interval=minutes,
            ttl_minutes=minutes,
            # A new one each time: the SDK writes into it.
            labels={
                _NAMESPACE: self._terms.namespace,
                _OWNER: str(self._owner),
                _EXPIRES: str(int(expires.timestamp())),
            },
        )

    async def _end(self, ours: "_Tenure") -> None:
        """Destroy it and free its slot; what takes too long goes on in the background."""
        if ours.name is None:
            self._slots.release()
            return
        if await self._destroy(ours.name, is_lost=ours.is_lost):
            self._held.discard(ours.name)
            self._slots.release()
            return
        task = asyncio.create_task(self._linger(ours.name))
        self._lingering.add(task)
        task.add_done_callback(self._lingering.discard)

    async def _linger(self, name: str) -> None:
        deadline = time.monotonic() + self._terms.time_to_live.total_seconds()
        try:
            while time.monotonic() < deadline and not await self._destroy(name, is_lost=False):
                pass
        finally:
            self._held.discard(name)
            self._slots.release()

    async def _destroy(self, name: str, *, is_lost: bool) -> bool:
        """Delete by name until it is gone; whether it is.

        Args:
            name: of the sandbox.
            is_lost: it may come into being only now, so one look is not enough.
        """
        backoff = Backoff(self._pace, self._pace.destroy_patience)
        absent = 0
        while True:
            failure: BaseException | None = None
            try:
                async with asyncio.timeout(self._pace.request_timeout):
                    sandbox = await self._client.get(
                        name, request_timeout=self._pace.request_timeout
                    )
                    absent = 0
                    if str(sandbox.state.value if sandbox.state else "") not in _ENDED:
                        await sandbox.delete(timeout=self._pace.request_timeout)
            except DaytonaNotFoundError:
                absent += 1
                if not is_lost or absent >= self._pace.lost_looks:
                    return True
            except (DaytonaError, *Lost) as error:
                failure = error
            if not await backoff.pause(failure):
                return False

    async def sweep(self) -> Swept:
        """Destroy sandboxes whose owners are dead or have forgotten them, or past their time."""
        swept = Swept([], [])
        query = ListSandboxesQuery(labels={_NAMESPACE: self._terms.namespace})
        try:
            async with asyncio.timeout(self._pace.request_patience):
                listed = [
                    sandbox
                    async for sandbox in self._client.list(
                        query, request_timeout=self._pace.request_timeout
                    )
                ]
        except (DaytonaError, *Lost) as error:
            raise SandboxUnavailable(f"Daytona lists no sandboxes: {told(error)}") from error
        for sandbox in listed:
            if not self._is_left(sandbox) or not await self._exists(sandbox.name):
                continue
            if await self._destroy(sandbox.name, is_lost=False):
                swept.removed.append(sandbox.name)
            else:
                swept.stuck.append(sandbox.name)
        return swept

    def _is_left(self, sandbox: AsyncSandbox) -> bool:
        if sandbox.name in self._held:
            return False
        labels = sandbox.labels
        if float(labels.get(_EXPIRES, "0")) < time.time():
            return True
        owner = Owner.parse(labels.get(_OWNER, ""))
        if owner is None:
            return False
        if owner == self._owner:
            return _age(sandbox.created_at) >= self._terms.grace
        return owner.is_known_dead()

    async def _exists(self, name: str) -> bool:
        """The list lags behind, so the last word is with the sandbox itself."""
        try:
            async with asyncio.timeout(self._pace.request_timeout):
                await self._client.get(name, request_timeout=self._pace.request_timeout)
        except DaytonaNotFoundError:
            return False
        except (DaytonaError, *Lost):
            return True
        return True

    async def drain(self) -> None:
        """Wait a little for what is being destroyed in the background; leave the rest to sweeps."""
        if self._lingering:
            await asyncio.wait(self._lingering, timeout=self._pace.destroy_patience)
        for task in self._lingering:
            task.cancel()


class _Tenure:
    """The sandbox that one holder has, or is about to have."""

    def __init__(self) -> None:
        self.name: str | None = None
        self.is_lost = True
        """Nobody has said yet that it exists."""


def _age(created_at: str | None) -> timedelta:
    if not created_at:
        return timedelta.max
    return datetime.now(UTC) - datetime.fromisoformat(created_at)
