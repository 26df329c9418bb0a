"""Clocks that a run keeps. Pure but for reading the clock."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stopwatch:
    """Seconds during which at least one of several overlapping activities was under way."""

    def __init__(self) -> None:
        self._running = 0
        self._since = 0.0
        self._seconds = 0.0

    @property
    def seconds(self) -> float:
        """So far, what is under way now included."""
        return self._seconds + (time.perf_counter() - self._since if self._running else 0.0)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Time the body as one of the activities."""
        if not self._running:
            self._since = time.perf_counter()
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1
            if not self._running:
                self._seconds += time.perf_counter() - self._since
