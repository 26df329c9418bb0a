from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from assay_contracts.rpc import ListValidations, ValidationHistory
from assay_scorer.domain.admission import UnderWay
from assay_scorer.domain.decisions import Decision
from assay_scorer.domain.validation import Validation


class ValidationQueries(Protocol):
    async def validations(self, query: ListValidations) -> ValidationHistory:
        """The validations of a skill, newest first; none for one that is unknown."""
        ...

    async def ended_validation(
        self, skill_id: UUID, validation_id: UUID | None = None
    ) -> UUID | None:
        """This one if it has ended, or the newest of the skill that has.

        Full tests count only where one is asked about.
        """
        ...


class OpenValidations(Protocol):
    async def deadlines(self) -> Sequence[tuple[UUID, datetime | None]]:
        """The validations under way, and until when each may be."""
        ...

    async def validation(self, validation_id: UUID) -> Validation | None: ...


class ProgressNotes(Protocol):
    async def note_progress(self, validation_id: UUID, detail: str, done: int, total: int) -> None:
        """Keep the newest live progress, for those who ask rather than listen."""
        ...


class ValidationChanges(Protocol):
    """Within a transaction."""

    async def lock_validation(self, validation_id: UUID) -> Validation | None: ...

    async def lock_admission(self) -> UnderWay:
        """How many are under way; until the transaction ends nobody else starts any."""
        ...

    async def lock_queued(self, room: int) -> Sequence[Validation]:
        """The oldest queued validations, at most so many, full tests apart."""
        ...

    async def lock_queued_tests(self, room: int) -> Sequence[Validation]:
        """The queued parts of the full test under way, at most so many, by name."""
        ...

    async def save_decision(self, decision: Decision, now: datetime) -> None:
        """Save the validation, what it makes of its skill, and what is to be said."""
        ...
