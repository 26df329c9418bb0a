"""What is needed from a service that runs machines for others, to have sandboxes there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol, TypeVar


class RemoteFault(Exception):
    """The service did not do what it was asked for, or nobody knows whether it did."""

    def __init__(
        self,
        message: str,
        *,
        may_pass: bool = True,
        may_be_done: bool = True,
        retry_after_s: float | None = None,
    ) -> None:
        """Say what may help.

        Args:
            message: what the service says.
            may_pass: the same request may succeed later.
            may_be_done: what was asked for may have been done all the same, now or a little later.
            retry_after_s: how long the service asks us to wait.
        """
        super().__init__(message)
        self.may_pass = may_pass
        self.may_be_done = may_be_done
        self.retry_after_s = retry_after_s


class RemoteMissing(RemoteFault):
    """There is nothing of that name."""

    def __init__(self, message: str) -> None:
        super().__init__(message, may_pass=False, may_be_done=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineOrder:
    """A machine to be made."""

    name: str
    """Of this attempt alone."""
    snapshot: str | None
    """Under the name that the service knows it by; none means the account's default."""
    blocked: bool
    """Whether it is to have no network."""
    labels: Mapping[str, str]
    time_to_live: timedelta
    """After this, the service ends it by itself."""


class RemoteMachine(Protocol):
    """A machine of the service. Every method raises `RemoteFault`."""

    @property
    def name(self) -> str: ...

    @property
    def labels(self) -> Mapping[str, str]: ...

    @property
    def created_at(self) -> datetime | None: ...

    @property
    def is_ending(self) -> bool:
        """Whether it is being destroyed already."""

    async def run(self, command: str, *, seconds: int) -> str:
        """Run a shell command from `/`; return all that it prints."""

    async def upload(self, path: str, content: bytes, *, seconds: int) -> None: ...

    async def download(self, path: str, *, seconds: int) -> bytes: ...

    async def delete(self, *, seconds: float) -> None:
        """Ask for its end, which may come later."""


M_co = TypeVar("M_co", bound=RemoteMachine, covariant=True)


class RemoteService(Protocol[M_co]):
    """Makes machines and finds them again. Every method raises `RemoteFault`."""

    @property
    def title(self) -> str:
        """What people call it."""

    async def create(self, order: MachineOrder, *, seconds: float) -> M_co:
        """A machine that has started."""

    async def find(self, name: str, *, seconds: float) -> M_co:
        """Raises RemoteMissing."""

    async def find_all(self, labels: Mapping[str, str], *, seconds: float) -> Sequence[M_co]: ...
