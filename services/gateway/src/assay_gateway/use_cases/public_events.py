"""Hand on public events as they are said, going on where a listener left off."""

from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from assay_gateway.domain.public_event import PublicEvent
from assay_gateway.ports import PublicEvents

REMEMBERED_OF_A_REPLAY: Final = 512
"""More than may be said during a replay: whoever has as many waiting is too slow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPublicEvents:
    events: PublicEvents

    async def __call__(
        self, types: frozenset[str], after: int | None
    ) -> AsyncIterator[PublicEvent | None]:
        """Events of these types, or of all if none is named: those after `after`, then new ones.

        None comes before all others, and says that nothing is missed from now on.

        Ends for a listener that is too slow. Raises ProblemError SERVICE_UNAVAILABLE.
        """
        replayed: deque[PublicEvent] = deque(maxlen=REMEMBERED_OF_A_REPLAY)
        # It listens before it replays, so what is said during the replay comes twice. An event is
        # known again by all that it says and not by its number alone, since a stream that was made
        # anew counts from one.
        async with self.events.listen() as live:
            yield None
            if after is not None:
                async for event in self.events.since(after):
                    replayed.append(event)
                    if not types or event.type in types:
                        yield event
            repeated = frozenset(replayed)
            async for event in live():
                if event not in repeated and (not types or event.type in types):
                    yield event
