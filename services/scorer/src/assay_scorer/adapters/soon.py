"""Does something soon after it is asked for; many who ask at once are served by one go."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from assay_servicekit.bus import Unavailable

GATHER_S = 0.1
"""The first who asks is served at once; those who follow closer than this, together."""

log = structlog.get_logger(__name__)


class Soon:
    def __init__(self, what: str, do: Callable[[], Awaitable[None]]) -> None:
        self._what = what
        self._do = do
        self._asked = asyncio.Event()

    def wake(self) -> None:
        self._asked.set()

    async def run(self) -> None:
        """Serve until cancelled. What is missed here, the reconciler makes up for."""
        while True:
            await self._asked.wait()
            self._asked.clear()
            try:
                await self._do()
            except Unavailable as error:
                log.warning("postponed", what=self._what, error=str(error))
            await asyncio.sleep(GATHER_S)
