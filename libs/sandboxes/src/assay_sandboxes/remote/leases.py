"""Having machines of a remote service without ever leaving one behind.

Every attempt at a machine has a name of its own, so that what came of it can be found even where
the answer was lost. It is destroyed by that name on every way out. Labels tell whose it is and
until when it may live, for sweepers here and elsewhere; and the service itself ends it after its
time.
"""

import asyncio
import re
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Generic, TypeVar

from assay_sandboxes.host_processes import uninterrupted
from assay_sandboxes.port import SandboxUnavailable
from assay_sandboxes.remote.lease_owner import LeaseOwner
from assay_sandboxes.remote.retries import FAULTS, Retries, described, may_be_done, may_pass
from assay_sandboxes.remote.service import (
    MachineOrder,
    RemoteMachine,
    RemoteMissing,
    RemoteService,
)

_NAMESPACE: Final = "assay-namespace"
_OWNER: Final = "assay-owner"
_EXPIRES: Final = "assay-expires"
_PURPOSE_CHARS: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTerms:
    """On what terms machines are had."""

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


M = TypeVar("M", bound=RemoteMachine)


class Leases(Generic[M]):
    """Machines that this process has."""

    def __init__(self, service: RemoteService[M], terms: LeaseTerms, retries: Retries) -> None:
        self._service = service
        self._terms = terms
        self._retries = retries
        self._policy = retries.policy
        self._owner = LeaseOwner.this()
        self._slots = asyncio.Semaphore(terms.most)
        self._held: set[str] = set()
        self._lingering: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def hold(self, purpose: str, *, snapshot: str | None, blocked: bool) -> AsyncIterator[M]:
        """A new machine that has started, destroyed on every way out.

        Raises:
            SandboxUnavailable: none can be had.
        """
        await self._slots.acquire()
        lease = _Lease()
        try:
            yield await self._create(purpose, snapshot, lease, blocked=blocked)
        finally:
            await uninterrupted(self._end(lease))

    async def _create(
        self, purpose: str, snapshot: str | None, lease: "_Lease", *, blocked: bool
    ) -> M:
        backoff = self._retries.backoff(self._policy.create_patience)
        while True:
            lease.name, lease.is_lost = self._new_name(purpose), True
            self._held.add(lease.name)
            try:
                async with asyncio.timeout(self._policy.create_timeout + 5):
                    machine = await self._service.create(
                        self._order(lease.name, snapshot, blocked=blocked),
                        seconds=self._policy.create_timeout,
                    )
            except FAULTS as error:
                lease.is_lost = may_be_done(error)
                failure = error
            else:
                lease.is_lost = False
                return machine
            if not may_pass(failure):
                raise SandboxUnavailable(
                    f"{self._service.title} refuses a sandbox: {described(failure)}"
                ) from failure
            # One attempt at a time is under way: this one's remains go first.
            if not await self._destroy(lease.name, is_lost=lease.is_lost):
                raise SandboxUnavailable(
                    f"a sandbox that failed to start cannot be destroyed: {lease.name}"
                ) from failure
            self._held.discard(lease.name)
            lease.name = None
            if not await backoff.pause(failure):
                raise SandboxUnavailable(
                    f"{self._service.title} gives no sandbox: {described(failure)}"
                ) from failure

    def _new_name(self, purpose: str) -> str:
        plain = re.sub(r"[^a-z0-9]+", "-", purpose.lower()).strip("-")[-_PURPOSE_CHARS:]
        return f"{self._terms.namespace}-{plain}-{secrets.token_hex(5)}"

    def _order(self, name: str, snapshot: str | None, *, blocked: bool) -> MachineOrder:
        expires = datetime.now(UTC) + self._terms.time_to_live
        return MachineOrder(
            name=name,
            snapshot=snapshot,
            blocked=blocked,
            time_to_live=self._terms.time_to_live,
            labels={
                _NAMESPACE: self._terms.namespace,
                _OWNER: str(self._owner),
                _EXPIRES: str(int(expires.timestamp())),
            },
        )

    async def _end(self, lease: "_Lease") -> None:
        """Destroy it and free its slot; what takes too long goes on in the background."""
        if lease.name is None:
            self._slots.release()
            return
        if await self._destroy(lease.name, is_lost=lease.is_lost):
            self._held.discard(lease.name)
            self._slots.release()
            return
        task = asyncio.create_task(self._linger(lease.name))
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
        backoff = self._retries.backoff(self._policy.destroy_patience)
        seconds = self._policy.request_timeout
        absent = 0
        while True:
            failure: BaseException | None = None
            try:
                async with asyncio.timeout(seconds):
                    machine = await self._service.find(name, seconds=seconds)
                    absent = 0
                    if not machine.is_ending:
                        await machine.delete(seconds=seconds)
            except RemoteMissing:
                absent += 1
                if not is_lost or absent >= self._policy.lost_looks:
                    return True
            except FAULTS as error:
                failure = error
            if not await backoff.pause(failure):
                return False

    async def sweep(self) -> Swept:
        """Destroy sandboxes whose owners are dead or have forgotten them, or past their time."""
        swept = Swept([], [])
        try:
            async with asyncio.timeout(self._policy.request_patience):
                listed = await self._service.find_all(
                    {_NAMESPACE: self._terms.namespace}, seconds=self._policy.request_timeout
                )
        except FAULTS as error:
            raise SandboxUnavailable(
                f"{self._service.title} lists no sandboxes: {described(error)}"
            ) from error
        for machine in listed:
            if not self._is_abandoned(machine) or not await self._exists(machine.name):
                continue
            if await self._destroy(machine.name, is_lost=False):
                swept.removed.append(machine.name)
            else:
                swept.stuck.append(machine.name)
        return swept

    def _is_abandoned(self, machine: RemoteMachine) -> bool:
        if machine.name in self._held:
            return False
        labels = machine.labels
        if float(labels.get(_EXPIRES, "0")) < time.time():
            return True
        owner = LeaseOwner.parse(labels.get(_OWNER, ""))
        if owner is None:
            return False
        if owner == self._owner:
            return _age(machine.created_at) >= self._terms.grace
        return owner.is_known_dead()

    async def _exists(self, name: str) -> bool:
        """The list lags behind, so the last word is with the machine itself."""
        try:
            async with asyncio.timeout(self._policy.request_timeout):
                await self._service.find(name, seconds=self._policy.request_timeout)
        except RemoteMissing:
            return False
        except FAULTS:
            return True
        return True

    async def drain(self) -> None:
        """Wait a little for what is being destroyed in the background; leave the rest to sweeps."""
        if self._lingering:
            await asyncio.wait(self._lingering, timeout=self._policy.destroy_patience)
        for task in self._lingering:
            task.cancel()


class _Lease:
    """The machine that one holder has, or is about to have."""

    def __init__(self) -> None:
        self.name: str | None = None
        self.is_lost = True
        """Nobody has said yet that it exists."""


def _age(created_at: datetime | None) -> timedelta:
    return datetime.now(UTC) - created_at if created_at else timedelta.max
