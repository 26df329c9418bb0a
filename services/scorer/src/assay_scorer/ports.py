"""What the use cases need from the outside."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol
from uuid import UUID

from assay_contracts.base import Message
from assay_contracts.review import AuditAction, AuditPage, ListAudit
from assay_contracts.rpc import (
    ListSkills,
    ListValidations,
    RegisterReply,
    RegisterSkill,
    SkillDetail,
    SkillPage,
    SkillStatusView,
    ValidationHistory,
)
from assay_contracts.skills import SkillStatus
from assay_contracts.validations import ReportRef
from assay_scorer.domain.conductor import Decision, Outgoing
from assay_scorer.domain.environment import Environment
from assay_scorer.domain.review import Standing
from assay_scorer.domain.runtime import Made, Version
from assay_scorer.domain.validation import Validation


class Transaction(Protocol):
    """One unit of work: everything in it happens, or nothing does."""

    async def locked(self, validation_id: UUID) -> Validation | None:
        """The validation, held until the transaction ends."""
        ...

    async def admissible(self, limit: int) -> Sequence[Validation]:
        """The oldest queued validations that fit below `limit` active ones, held."""
        ...

    async def environment(self) -> Environment:
        """The current runtime version and the approved skills."""
        ...

    async def store(self, decision: Decision, now: datetime) -> None:
        """Save the validation, what it makes of its skill, and what is to be said."""
        ...

    async def say(self, outgoing: Sequence[Outgoing], now: datetime) -> None:
        """Put what is to be said into the outbox."""
        ...

    async def standing(self, skill_id: UUID) -> Standing | None:
        """The skill and its newest validation; the skill is held until the transaction ends."""
        ...

    async def set_status(self, skill_id: UUID, status: SkillStatus) -> None: ...

    async def delete_skill(self, skill_id: UUID) -> None:
        """Remove the skill, its revisions and its validations."""
        ...

    async def versions(self) -> Sequence[Version]:
        """Every runtime version, newest first, held until the transaction ends.

        To be called before any skill is held.
        """
        ...

    async def save_version(self, version: Version) -> None: ...

    async def swap_visible(self, made: frozenset[Made]) -> tuple[Sequence[str], Sequence[str]]:
        """Hide approved skills that are not among these, and show hidden ones that are.

        Returns:
            The names of those hidden, and of those shown again.
        """
        ...

    async def note(
        self,
        action: AuditAction,
        actor: str,
        now: datetime,
        *,
        skill: tuple[UUID, str] | None = None,
        details: dict[str, str] | None = None,
    ) -> None:
        """Add an entry to the audit log."""
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

    async def validations(self, query: ListValidations) -> ValidationHistory:
        """The validations of a skill, newest first; none for one that is unknown."""
        ...

    async def versions(self) -> Sequence[Version]:
        """Every runtime version, newest first."""
        ...

    async def audit(self, query: ListAudit) -> AuditPage: ...

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
