"""Tell public facts as they are said, going on where a listener left off."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from assay_gateway.domain import Fact
from assay_gateway.ports import Facts


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
        last = after or 0
        # Listening first: what is said while the past is told comes again, and is known by number.
        async with self.facts.listen() as live:
            yield None
            if after is not None:
                async for fact in self.facts.since(after):
                    last = fact.sequence
                    if not types or fact.type in types:
                        yield fact
            async for fact in live():
                if fact.sequence > last and (not types or fact.type in types):
                    yield fact
