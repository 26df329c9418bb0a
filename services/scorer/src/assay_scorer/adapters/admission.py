"""Starts queued validations when asked to; many who ask at once are served by one look."""

import asyncio

import structlog

from assay_scorer.service import Conduct
from assay_servicekit.bus import Unavailable

GATHER_S = 0.1
"""The first who asks is served at once; those who follow closer than this, together."""

log = structlog.get_logger(__name__)


class Admission:
    def __init__(self, conduct: Conduct) -> None:
        self._conduct = conduct
        self._asked = asyncio.Event()

    def wake(self) -> None:
        self._asked.set()

    async def run(self) -> None:
        """Serve until cancelled. What is missed here, the reconciler makes up for."""
        while True:
            await self._asked.wait()
            self._asked.clear()
            try:
                await self._conduct.start_queued()
            except Unavailable as error:
                log.warning("admission_waits", error=str(error))
            await asyncio.sleep(GATHER_S)
