"""Notices an event loop that is held up: by a metric, in the log, and in readiness.

While a loop is held up it can tell nobody, so a thread beside it looks on and logs where it stands.
"""

import asyncio
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import structlog
from prometheus_client import Histogram

from assay_servicekit.questions import Unavailable

BEAT_S: Final = 0.25
DEAD_AFTER_S: Final = 10.0
"""A loop that has not turned for so long is taken for dead."""
FRAMES_TOLD: Final = 8

LAG = Histogram(
    "assay_loop_lag_seconds",
    "How much later than it was due the event loop came round.",
    buckets=(0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60),
)

log = structlog.get_logger(__name__)


@dataclass(kw_only=True)
class LoopWatch:
    """Watches the loop that it is entered on.

    Args:
        held_up_s: lag from which the loop counts as held up.
        remembered_s: for so long after that the service is not ready.
    """

    held_up_s: float = 3.0
    remembered_s: float = 10.0
    _last: float = field(default_factory=time.monotonic)
    _bad: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=100))
    _ended: threading.Event = field(default_factory=threading.Event)

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """While the body runs."""
        thread = threading.Thread(
            target=self._look_on, args=(threading.get_ident(),), name="loop-watch", daemon=True
        )
        beating = asyncio.create_task(self._beat())
        thread.start()
        await asyncio.sleep(0)  # so that the first beat is due before anything else runs
        try:
            yield
        finally:
            beating.cancel()
            self._ended.set()

    def alive(self) -> bool:
        return time.monotonic() - self._last < DEAD_AFTER_S

    async def check(self) -> None:
        """Raises Unavailable if the loop was held up a short while ago."""
        since = time.monotonic() - self.remembered_s
        worst = max((lag for at, lag in self._bad if at >= since), default=0.0)
        if worst:
            raise Unavailable(
                f"the event loop stood still for {worst:.1f} s; the log says where it was"
            )

    async def _beat(self) -> None:
        while True:
            due = time.monotonic() + BEAT_S
            await asyncio.sleep(BEAT_S)
            self._last = time.monotonic()
            lag = max(0.0, self._last - due)
            LAG.observe(lag)
            if lag >= self.held_up_s:
                self._bad.append((self._last, lag))
                log.warning("loop_was_held_up", seconds=round(lag, 1))

    def _look_on(self, loop_thread: int) -> None:
        told_of = 0.0
        while not self._ended.wait(self.held_up_s / 3):
            last = self._last
            if time.monotonic() - last >= self.held_up_s + BEAT_S and last != told_of:
                told_of = last
                frame = sys._current_frames().get(loop_thread)  # noqa: SLF001  # the one way
                stack = traceback.extract_stack(frame)[-FRAMES_TOLD:] if frame else []
                where = [f"{each.filename}:{each.lineno} {each.name}" for each in stack]
                log.error("loop_is_held_up", where=where)
