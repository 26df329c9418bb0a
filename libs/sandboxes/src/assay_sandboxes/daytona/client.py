"""Daytona's own SDK, as the service that remote sandboxes are had from."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Final

import aiohttp
from daytona import (
    AsyncDaytona,
    AsyncSandbox,
    CreateSandboxFromSnapshotParams,
    DaytonaError,
    DaytonaNotFoundError,
    ListSandboxesQuery,
)

from assay_sandboxes.egress import EgressRules
from assay_sandboxes.remote.retries import described
from assay_sandboxes.remote.service import MachineOrder, RemoteFault, RemoteMissing

TITLE: Final = "Daytona"

_BAD_REQUEST: Final = 400
_SERVER_ERROR: Final = 500
_PASSING: Final = frozenset({408, 409, 425, 429})
"""Too slow, changing state, too early, too many."""
_PASSING_WORDS: Final = ("limit exceeded", "failed to start", "quota", "is the sandbox started")
"""Quota, a failed start and a sandbox in transition are plain 400s."""
_ENDING: Final = frozenset({"destroying", "destroyed"})


@contextmanager
def daytona_faults() -> Iterator[None]:
    """What goes wrong at Daytona inside goes on as a `RemoteFault`."""
    try:
        yield
    except DaytonaNotFoundError as error:
        raise RemoteMissing(described(error)) from error
    except DaytonaError as error:
        raise _fault(error) from error
    except (aiohttp.ClientError, ConnectionError) as error:
        # No answer came, so nobody knows what was done.
        raise RemoteFault(described(error)) from error


def _fault(error: DaytonaError) -> RemoteFault:
    status = error.status_code
    unanswered = status is None or status >= _SERVER_ERROR
    passing = status in _PASSING or (
        status == _BAD_REQUEST and any(word in str(error).lower() for word in _PASSING_WORDS)
    )
    return RemoteFault(
        described(error),
        may_pass=unanswered or passing,
        may_be_done=unanswered,
        retry_after_s=_wanted_pause(error),
    )


def _wanted_pause(error: DaytonaError) -> float | None:
    """How long the service asks us to wait, if it does. Its headers' case is not fixed."""
    for name, value in (error.headers or {}).items():
        if str(name).lower().startswith("retry-after"):
            try:
                return max(0.0, float(value))
            except ValueError:
                return None
    return None


class DaytonaMachine:
    """A sandbox at Daytona, as a remote machine."""

    def __init__(self, sandbox: AsyncSandbox) -> None:
        self.sandbox = sandbox

    @property
    def name(self) -> str:
        return str(self.sandbox.name)

    @property
    def labels(self) -> Mapping[str, str]:
        return self.sandbox.labels

    @property
    def created_at(self) -> datetime | None:
        created = self.sandbox.created_at
        return datetime.fromisoformat(created) if created else None

    @property
    def is_ending(self) -> bool:
        state = self.sandbox.state
        return state is not None and str(state.value) in _ENDING

    async def run(self, command: str, *, seconds: int) -> str:
        with daytona_faults():
            response = await self.sandbox.process.exec(command, cwd="/", timeout=seconds)
        return str(response.result)

    async def upload(self, path: str, content: bytes, *, seconds: int) -> None:
        with daytona_faults():
            await self.sandbox.fs.upload_file(content, path, timeout=seconds)

    async def download(self, path: str, *, seconds: int) -> bytes:
        with daytona_faults():
            return bytes(await self.sandbox.fs.download_file(path, seconds))

    async def delete(self, *, seconds: float) -> None:
        with daytona_faults():
            await self.sandbox.delete(timeout=seconds)


def _of_version_4(ranges: Sequence[str]) -> list[str]:
    """Daytona takes no others."""
    return [each for each in ranges if ":" not in each]


class DaytonaService:
    """An account at Daytona, as a remote service."""

    title: Final = TITLE

    def __init__(self, client: AsyncDaytona, egress: EgressRules) -> None:
        self._client = client
        self._egress = egress

    async def create(self, order: MachineOrder, *, seconds: float) -> DaytonaMachine:
        minutes = max(1, round(order.time_to_live.total_seconds() / 60))
        params = CreateSandboxFromSnapshotParams(
            name=order.name,
            snapshot=order.snapshot,
            network_block_all=order.blocked,
            # Lists only take away here: without them, everything but what Daytona refuses is open.
            network_allow_list=self._listed(order, _of_version_4(self._egress.ranges)),
            domain_allow_list=self._listed(order, self._egress.names),
            ephemeral=True,
            auto_stop_interval=minutes,
            ttl_minutes=minutes,
            # A copy: the SDK writes into it.
            labels=dict(order.labels),
        )
        with daytona_faults():
            return DaytonaMachine(await self._client.create(params, timeout=seconds))

    def _listed(self, order: MachineOrder, entries: Sequence[str]) -> str | None:
        if order.blocked or not self._egress.only_listed:
            return None
        return ",".join(entry.removeprefix(".") for entry in entries) or None

    async def find(self, name: str, *, seconds: float) -> DaytonaMachine:
        with daytona_faults():
            return DaytonaMachine(await self._client.get(name, request_timeout=seconds))

    async def find_all(self, labels: Mapping[str, str], *, seconds: float) -> list[DaytonaMachine]:
        query = ListSandboxesQuery(labels=dict(labels))
        with daytona_faults():
            return [
                DaytonaMachine(sandbox)
                async for sandbox in self._client.list(query, request_timeout=seconds)
            ]
