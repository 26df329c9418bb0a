import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from assay_contracts.base import Lane


class Lanes:
    """Other work runs side by side; solo work runs while nothing else does in this process.

    A process that dies with solo work in hand has one suspect.
    """

    def __init__(self) -> None:
        self._change = asyncio.Condition()
        self._others = 0
        self._solo = False

    @asynccontextmanager
    async def enter(self, lane: Lane) -> AsyncIterator[None]:
        async with self._change:
            if lane != "solo":
                await self._change.wait_for(lambda: not self._solo)
                self._others += 1
            else:
                await self._change.wait_for(lambda: not self._solo)
                self._solo = True
                try:
                    await self._change.wait_for(lambda: self._others == 0)
                except BaseException:
                    self._solo = False
                    self._change.notify_all()
                    raise
        try:
            yield
        finally:
            async with self._change:
                if lane != "solo":
                    self._others -= 1
                else:
                    self._solo = False
                self._change.notify_all()
