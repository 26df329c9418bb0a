"""Tell public facts as they are said, going on where a listener left off."""

from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from assay_gateway.domain import Fact
from assay_gateway.ports import Facts

REPLAYED_LAST: Final = 512
"""More than may be said during a replay: whoever has as many waiting is too slow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TellFacts:
    facts: Facts

    async def __call__(
        self, types: frozenset[str], after: int | None
    ) -> AsyncIterator[Fact | None]:
        """Facts of these types, or of all if none is named: those after `after`, then new ones.

        None comes first, and says that nothing is missed from now on.

        Ends for a listener that is too slow. Raises ProblemError SERVICE_UNAVAILABLE.
        """
        replayed: deque[Fact] = deque(maxlen=REPLAYED_LAST)
        # Listening first: what is said while the past is told comes again. It is known by all that
        # it says and not by its number alone, since a stream that was made anew counts from one.
        async with self.facts.listen() as live:
            yield None
            if after is not None:
                async for fact in self.facts.since(after):
                    replayed.append(fact)
                    if not types or fact.type in types:
                        yield fact
            again = frozenset(replayed)
            async for fact in live():
                if fact not in again and (not types or fact.type in types):
                    yield fact
