"""The clock of an agent's run, which can be stopped while the agent waits for a turn."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

_CLOCK: Final[ContextVar[asyncio.Timeout | None]] = ContextVar("clock", default=None)


@contextmanager
def running_on(clock: asyncio.Timeout) -> Iterator[None]:
    """Whatever is done inside runs on this clock."""
    token = _CLOCK.set(clock)
    try:
        yield
    finally:
        _CLOCK.reset(token)


@contextmanager
def stopped_clock() -> Iterator[None]:
    """What is done inside costs the agent none of its time."""
    clock, loop = _CLOCK.get(), asyncio.get_running_loop()
    due = clock.when() if clock else None
    if clock is None or due is None:
        yield
        return
    left = due - loop.time()
    clock.reschedule(None)
    try:
        yield
    finally:
        if not clock.expired():
            clock.reschedule(loop.time() + left)
