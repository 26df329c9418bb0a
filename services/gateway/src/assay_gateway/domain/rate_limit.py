"""How often somebody may do something."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from assay_contracts.rpc import Problem, ProblemDetails, ProblemError

WINDOW_S: Final = 60.0
MAX_KEYS: Final = 10_000
"""Whoever comes with more addresses than this is not stopped by counting, and fills no memory."""


class RateLimit:
    """So many a minute for each key, at once or spread; only the keys last counted are kept."""

    def __init__(
        self,
        per_minute: int,
        *,
        max_keys: int = MAX_KEYS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cost_s = WINDOW_S / per_minute
        self._max_keys = max_keys
        self._clock = clock
        self._used_until: OrderedDict[str, float] = OrderedDict()
        """When all that a key has used will have come back to it; the key last counted is last."""

    def __len__(self) -> int:
        return len(self._used_until)

    def wait_s(self, key: str) -> float:
        """Seconds until this key may once more; 0 if it may now."""
        until = self._used_until.get(key)
        if until is None:
            return 0.0
        return max(0.0, until + self._cost_s - WINDOW_S - self._clock())

    def count(self, key: str) -> None:
        now = self._clock()
        until = max(now, self._used_until.pop(key, now)) + self._cost_s
        self._used_until[key] = min(until, now + WINDOW_S)
        while len(self) > self._max_keys or next(iter(self._used_until.values())) <= now:
            self._used_until.popitem(last=False)

    def admit(self, key: str, message: str) -> None:
        """Count one. Raises ProblemError with RATE_LIMITED, and counts nothing, if that is many."""
        self.check(key, message)
        self.count(key)

    def check(self, key: str, message: str) -> None:
        """Raises ProblemError with RATE_LIMITED if this key may not, for now."""
        if wait_s := self.wait_s(key):
            seconds = math.ceil(wait_s)
            raise ProblemError(
                Problem(
                    code="RATE_LIMITED",
                    message=f"{message} Try again in {seconds} s.",
                    details=ProblemDetails(retry_after_s=seconds),
                )
            )
