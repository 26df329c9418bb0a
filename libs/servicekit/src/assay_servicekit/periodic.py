"""Work by the clock: done now, again every so often, and at once when somebody asks for it."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from typing import Final

import structlog
from nats.errors import Error as NatsError

from assay_servicekit.questions import Unavailable

TRANSIENT: Final = (Unavailable, NatsError, TimeoutError, OSError)
"""What passes by itself: the bus, the database or the machine does not answer for a while."""

log = structlog.get_logger(__name__)


class Periodic:
    """One endless loop of rounds; made by `periodic`, run by `background(name=worker.run())`."""

    def __init__(
        self,
        name: str,
        do_round: Callable[[], Awaitable[object]],
        *,
        every: timedelta | None,
        min_pause: timedelta,
        transient: tuple[type[Exception], ...],
    ) -> None:
        self._name = name
        self._do_round = do_round
        self._every_s = None if every is None else every.total_seconds()
        self._min_pause_s = min_pause.total_seconds()
        self._transient = transient
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """Start a round at once; if one is under way, another follows it."""
        self._woken.set()

    async def run(self) -> None:
        """Do rounds until cancelled. Raises whatever a round raises that is not transient."""
        if self._every_s is None:
            await self._woken.wait()
        while True:
            self._woken.clear()
            try:
                await self._do_round()
            except self._transient as error:
                log.warning(
                    "round_failed", worker=self._name, error=f"{type(error).__name__}: {error}"
                )
            await asyncio.sleep(self._min_pause_s)
            with suppress(TimeoutError):
                # Not `wait_for`, which may swallow a cancellation in Python 3.11.
                async with asyncio.timeout(self._every_s):
                    await self._woken.wait()


def periodic(
    name: str,
    do_round: Callable[[], Awaitable[object]],
    *,
    every: timedelta | None,
    min_pause: timedelta = timedelta(0),
    transient: tuple[type[Exception], ...] = TRANSIENT,
) -> Periodic:
    """A loop that does a round when it starts and again `every` so often, or when woken.

    A round that fails with one of `transient` is logged as `round_failed` and tried again at its
    next time; any other exception is a defect, and `background` ends the process with it.

    Args:
        name: the worker, as logs call it.
        do_round: one round. What it returns is nobody's concern.
        every: how long to wait after a round for the next one; None for rounds only when woken,
            the first one included.
        min_pause: how long to wait even if woken: all who wake it meanwhile share one round.
        transient: exceptions that pass by themselves.
    """
    return Periodic(name, do_round, every=every, min_pause=min_pause, transient=transient)
