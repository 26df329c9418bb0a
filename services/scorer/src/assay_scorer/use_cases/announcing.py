from collections.abc import Sequence
from dataclasses import dataclass

from assay_contracts.base import Message
from assay_scorer.ports.outbox import Announcer


@dataclass(frozen=True, slots=True, kw_only=True)
class Announce:
    """Lets the world know what a transaction has changed, once it is through."""

    announcer: Announcer

    async def __call__(self, progress: Sequence[Message] = ()) -> None:
        """Have the outbox said, and tell those who listen how far things are."""
        self.announcer.wake()
        for each in progress:
            await self.announcer.announce(each)
