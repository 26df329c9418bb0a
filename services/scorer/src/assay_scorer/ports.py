"""What the use cases need from the outside."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol
from uuid import UUID

from assay_contracts.base import Message
from assay_contracts.rpc import (
    ListSkills,
    RegisterReply,
    RegisterSkill,
    SkillDetail,
    SkillPage,
    SkillStatusView,
)
from assay_contracts.validations import ReportRef
from assay_scorer.domain.conductor import Decision
from assay_scorer.domain.validation import Validation


class Transaction(Protocol):
    """One unit of work: everything in it happens, or nothing does."""

    async def locked(self, validation_id: UUID) -> Validation | None:
        """The validation, held until the transaction ends."""
        ...

    async def admissible(self, limit: int) -> Sequence[Validation]:
        """The oldest queued validations that fit below `limit` active ones, held."""
        ...

    async def store(self, decision: Decision, now: datetime) -> None:
        """Save the validation and put what is to be said into the outbox."""
        ...


class Records(Protocol):
    """The database. Every method raises `Unavailable` when it does not answer."""

    def transaction(self) -> AbstractAsyncContextManager[Transaction]: ...

    async def register(self, upload: RegisterSkill, now: datetime) -> RegisterReply:
        """Record the upload, its queued validation and the news of it, all or nothing.

        Raises ProblemError if it is refused. An upload that is there already is not recorded again.
        """
        ...

    async def skills(self, query: ListSkills) -> SkillPage: ...

    async def skill(self, skill_id: UUID) -> SkillDetail | None: ...

    async def status(self, skill_id: UUID) -> SkillStatusView | None: ...

    async def report(self, skill_id: UUID) -> tuple[UUID, ReportRef] | None:
        """The newest ended validation of a skill and where its report lies."""
        ...

    async def note_progress(self, validation_id: UUID, detail: str, done: int, total: int) -> None:
        """Keep the newest live progress, for those who ask rather than listen."""
        ...


class Reports(Protocol):
    async def keep(self, key: str, content: bytes) -> None:
        """Store one form of a report under `key`."""
        ...


class Announcer(Protocol):
    async def announce(self, message: Message) -> None:
        """Say something live that may be missed."""
        ...

    def wake(self) -> None:
        """There is something new in the outbox."""
        ...
