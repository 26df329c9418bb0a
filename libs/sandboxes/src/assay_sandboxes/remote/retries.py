"""Asking a remote service again, with pauses that grow."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from assay_sandboxes.port import SandboxUnavailable
from assay_sandboxes.remote.service import RemoteFault, RemoteMissing

T = TypeVar("T")

FAULTS: Final = (RemoteFault, TimeoutError)
"""What asking may end with; after a time-out nobody knows what was done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How patiently a service is asked. Seconds."""

    first_pause: float = 0.5
    longest_pause: float = 15.0
    create_patience: float = 180.0
    """From the first attempt to have a sandbox to the last."""
    create_timeout: float = 90.0
    """For one attempt: the sandbox has started, or it never will."""
    request_timeout: float = 20.0
    """For one small question."""
    request_patience: float = 60.0
    """For one small question, however often it is asked."""
    destroy_patience: float = 60.0
    """How long a sandbox's end is waited for; beyond, it is seen to in the background."""
    lost_looks: int = 3
    """How often to look for a sandbox that nobody knows to exist."""
    snapshot_patience: float = 600.0


def may_pass(error: BaseException) -> bool:
    """Whether the same request may succeed later."""
    return not isinstance(error, RemoteFault) or error.may_pass


def may_be_done(error: BaseException) -> bool:
    """Whether what was asked for may have been done all the same, now or a little later."""
    return not isinstance(error, RemoteFault) or error.may_be_done


def described(error: BaseException) -> str:
    """What an error says, shortened; some of them say nothing."""
    return (str(error).strip() or type(error).__name__)[:500]


class Backoff:
    """Pauses that grow, spread, and never end before the service wants them to."""

    def __init__(self, policy: RetryPolicy, patience: float) -> None:
        self._pause = policy.first_pause
        self._longest = policy.longest_pause
        self._deadline = time.monotonic() + patience

    async def pause(self, error: BaseException | None = None) -> bool:
        """Wait; or return False at once where patience would run out first."""
        pause = self._pause * random.uniform(0.5, 1.0)  # noqa: S311  # spreads load, no secret
        if isinstance(error, RemoteFault) and error.retry_after_s is not None:
            pause += error.retry_after_s
        self._pause = min(self._longest, 2 * self._pause)
        if pause >= self._deadline - time.monotonic():
            return False
        await asyncio.sleep(pause)
        return True


@dataclass(frozen=True, slots=True)
class Retries:
    """Asks one service, again where that may help."""

    service: str
    """What people call it."""
    policy: RetryPolicy

    def backoff(self, patience: float) -> Backoff:
        return Backoff(self.policy, patience)

    async def ask(
        self, what: str, ask: Callable[[], Awaitable[T]], *, seconds: float | None = None
    ) -> T:
        """Ask until there is an answer, `seconds` for each. Only for what may be asked twice.

        Raises:
            SandboxUnavailable: it was refused, or patience ran out.
            RemoteMissing: there is no such thing.
        """
        # What takes long by itself is asked for again after that, too.
        backoff = self.backoff(self.policy.request_patience + (seconds or 0))
        while True:
            try:
                async with asyncio.timeout(seconds or self.policy.request_timeout):
                    return await ask()
            except RemoteMissing:
                raise
            except FAULTS as error:
                if not may_pass(error) or not await backoff.pause(error):
                    raise SandboxUnavailable(
                        f"{self.service} could not {what}: {described(error)}"
                    ) from error
