from collections.abc import Collection, Sequence
from typing import Protocol
from uuid import UUID

from assay_scorer.domain.results import StoredResult


class ResultChanges(Protocol):
    """Results of approved skills in layer 2, within a transaction."""

    async def known_results(self, skill_ids: Collection[UUID]) -> Sequence[StoredResult]:
        """The newest few of each of these skills."""
        ...

    async def keep_results(self, results: Sequence[StoredResult]) -> None:
        """Keep these; one for the same key takes the place of the older."""
        ...
