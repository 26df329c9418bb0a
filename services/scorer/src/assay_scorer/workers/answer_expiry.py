"""Forgets first answers whose keys stand for nothing any more."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from assay_scorer.ports.idempotency import KEPT_FOR, AnswerExpiry
from assay_scorer.ports.timing import Clock
from assay_servicekit.periodic import Periodic, periodic

EVERY: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpireAnswers:
    answers: AnswerExpiry
    clock: Clock

    def worker(self) -> Periodic:
        return periodic("answers", self.sweep, every=EVERY)

    async def sweep(self) -> None:
        """Raises Unavailable."""
        await self.answers.remove_answers(before=self.clock() - KEPT_FOR)
