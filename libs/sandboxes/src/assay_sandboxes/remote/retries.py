"""What went wrong at Daytona, and whether asking again may help."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeVar

import aiohttp
from daytona import DaytonaError, DaytonaNotFoundError

from assay_sandboxes.port import SandboxUnavailable

T = TypeVar("T")

_BAD_REQUEST: Final = 400
_SERVER_ERROR: Final = 500
_PASSING: Final = frozenset({408, 409, 425, 429})
"""Too slow, changing state, too early, too many."""
_PASSING_WORDS: Final = ("limit exceeded", "failed to start", "quota", "is the sandbox started")
"""Quota, a failed start and a sandbox in transition are plain 400s."""

Lost = (aiohttp.ClientError, TimeoutError, ConnectionError)
"""No answer came, so nobody knows what was done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How patiently Daytona is asked. Seconds."""

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


def is_missing(error: BaseException) -> bool:
    return isinstance(error, DaytonaNotFoundError)


def is_passing(error: BaseException) -> bool:
    """Whether the same request may succeed later."""
    if isinstance(error, Lost):
        return True
    if not isinstance(error, DaytonaError):
        return False
    status = error.status_code
    if status is None or status >= _SERVER_ERROR or status in _PASSING:
        return True
    return status == _BAD_REQUEST and any(word in str(error).lower() for word in _PASSING_WORDS)


def is_unanswered(error: BaseException) -> bool:
    """Whether what was asked for may have been done all the same, now or a little later."""
    status = error.status_code if isinstance(error, DaytonaError) else None
    return status is None or status >= _SERVER_ERROR


def wanted_pause(error: BaseException) -> float | None:
    """How long the service asks us to wait, if it does. Its headers' case is not fixed."""
    headers = getattr(error, "headers", None) or {}
    for name, value in headers.items():
        if str(name).lower().startswith("retry-after"):
            try:
                return max(0.0, float(value))
            except ValueError:
                return None
    return None


class Backoff:
    """Pauses that grow, spread, and never end before the service wants them to."""

    def __init__(self, pace: Pace, patience: float) -> None:
        self._pause = pace.first_pause
        self._longest = pace.longest_pause
        self._deadline = time.monotonic() + patience

    @property
    def left(self) -> float:
        return self._deadline - time.monotonic()

    async def pause(self, error: BaseException | None = None) -> bool:
        """Wait; or return False at once where patience would run out first."""
        pause = self._pause * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, keeps no secret
        wanted = wanted_pause(error) if error else None
        if wanted is not None:
            pause += wanted
        self._pause = min(self._longest, 2 * self._pause)
        if pause >= self.left:
            return False
        await asyncio.sleep(pause)
        return True


async def patiently(
    what: str, ask: Callable[[], Awaitable[T]], pace: Pace, *, seconds: float | None = None
) -> T:
    """Ask until there is an answer, `seconds` for each. Only for what may be asked twice.

    Raises:
        SandboxUnavailable: it was refused, or patience ran out.
        DaytonaNotFoundError: there is no such thing.
    """
    # What takes long by itself is asked for again after that, too.
    backoff = Backoff(pace, pace.request_patience + (seconds or 0))
    while True:
        try:
            async with asyncio.timeout(seconds or pace.request_timeout):
                return await ask()
        except (DaytonaError, *Lost) as error:
            if is_missing(error):
                raise
            if not is_passing(error) or not await backoff.pause(error):
                raise SandboxUnavailable(f"Daytona could not {what}: {told(error)}") from error


def told(error: BaseException) -> str:
    """What an error says, shortened; some of them say nothing."""
    return (str(error).strip() or type(error).__name__)[:500]
