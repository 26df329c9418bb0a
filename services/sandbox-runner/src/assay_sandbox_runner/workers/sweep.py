"""Removing what killed processes left behind."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import structlog
from prometheus_client import Counter

from assay_servicekit.background import background
from assay_servicekit.periodic import periodic

SWEEP_EVERY: Final = timedelta(minutes=1)

log = structlog.get_logger(__name__)

FAILED: Final = Counter(
    "assay_sweep_failures", "Sweeps that could not remove everything.", ["what"]
)

RemoveLeftovers = Callable[[], Awaitable[list[str]]]
"""Removes leftovers of one kind and returns their names."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """One round: remove the leftovers of one kind, and write down which they were."""

    kind: str
    remove: RemoveLeftovers

    async def __call__(self) -> None:
        """Raises what `remove` raises, once it is counted."""
        try:
            removed = await self.remove()
        except Exception:
            FAILED.labels(self.kind).inc()
            raise
        if removed:
            log.info("swept", what=self.kind, removed=removed)


@asynccontextmanager
async def sweeping(
    *, every: timedelta = SWEEP_EVERY, **removers: RemoveLeftovers
) -> AsyncIterator[None]:
    """Beside the body, sweep each kind of leftovers now and again every so often.

    Each kind has a loop of its own, so that one which cannot be removed keeps back no other. What
    lies there may be a skill's making, so whatever goes wrong is counted, logged and tried again,
    and nothing of it ends the service or keeps it from starting.

    Args:
        every: How long to wait between two sweeps.
        removers: By the name of what they remove.
    """
    loops = {
        f"sweep_{kind}": periodic(
            f"sweep_{kind}",
            Sweep(kind, remove),
            every=every,
            transient=(Exception,),
        ).run()
        for kind, remove in removers.items()
    }
    async with background(**loops):
        yield
