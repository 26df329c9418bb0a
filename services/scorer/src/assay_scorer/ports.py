"""What the use cases need from the outside."""

from collections.abc import Collection, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from assay_contracts.base import Message
from assay_contracts.full_tests import (
    FullTestOutcome,
    FullTestPage,
    FullTestSummary,
    FullTestView,
    ListFullTests,
)
from assay_contracts.review import AuditAction, AuditPage, ListAudit
from assay_contracts.rpc import (
    BundleView,
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
from assay_contracts.validations import CleanupRequested, FullTestSkill, ReportRef
from assay_scorer.domain.decisions import Decision, Outgoing
from assay_scorer.domain.environment import Environment
from assay_scorer.domain.full_tests import Abandoned, Candidate
from assay_scorer.domain.review import Standing
from assay_scorer.domain.runtime import Made, Version
from assay_scorer.domain.validation import Validation


class Transaction(Protocol):
    """One unit of work: everything in it happens, or nothing does."""

    async def locked(self, validation_id: UUID) -> Validation | None:
        """The validation, held until the transaction ends."""
        ...

    async def admissible(self, limit: int, full_test_limit: int) -> Sequence[Validation]:
        """The oldest queued validations that fit below `limit` active ones, held.

        Those of full tests have a limit of their own.
        """
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

    async def cleanup_asked(self, step_id: str, attempt: int) -> CleanupRequested | None:
        """What was asked for at that attempt, as long as the outbox remembers it."""
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

    async def misplaced(self, made: frozenset[Made]) -> tuple[dict[UUID, str], dict[UUID, str]]:
        """The names of approved skills that are not among these, and of hidden ones that are.

        All of them are held until the transaction ends.
        """
        ...

    async def set_statuses(self, skills: Collection[UUID], status: SkillStatus) -> None: ...

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

    async def approved(self) -> Sequence[Candidate]:
        """The approved skills by name, held until the transaction ends."""
        ...

    async def open_full_test(self, full_test: FullTestSummary, runtime_version: int) -> UUID | None:
        """Record a full test, unless one is under way: its id is returned then."""
        ...

    async def queue_tests(self, validations: Sequence[Validation], now: datetime) -> None:
        """Save the queued validations of a full test, which are the parts of its skills in it."""
        ...

    async def full_test(self, full_test_id: UUID) -> FullTestSummary | None:
        """The full test, held until the transaction ends. To be called after all else is held."""
        ...

    async def save_full_test(
        self, full_test: FullTestSummary, *, cancelled_by: str | None = None
    ) -> None: ...

    async def save_tested(self, full_test_id: UUID, tested: FullTestSkill) -> None:
        """Keep how a skill fared in a full test."""
        ...

    async def outcomes(self, full_test_id: UUID) -> Sequence[FullTestOutcome]:
        """How all skills fared in a full test that has ended, by name."""
        ...

    async def outcome(self, validation_id: UUID) -> FullTestOutcome | None:
        """How a skill fared in a full test, by its part in it; None if it was in none."""
        ...

    async def baseline(self, validation: Validation) -> Validation | None:
        """What a skill's part in a full test is compared with."""
        ...

    async def version_under_test(self) -> int | None:
        """The number of the version that the full test under way is carried out on."""
        ...

    async def under_test(self, skill_id: UUID) -> UUID | None:
        """The skill's open part in a full test."""
        ...


class Records(Protocol):
    """The database. Every method raises `Unavailable` when it does not answer."""

    def transaction(self) -> AbstractAsyncContextManager[Transaction]: ...

    async def register(self, upload: RegisterSkill, now: datetime) -> RegisterReply:
        """Record the upload, the validation it is to start, and the news of it, all or nothing.

        Raises ProblemError if it is refused. An upload that is there already is not recorded again.
        """
        ...

    async def ping(self) -> None: ...

    async def skills(self, query: ListSkills) -> SkillPage: ...

    async def skill(self, skill_id: UUID) -> SkillDetail | None: ...

    async def status(self, skill_id: UUID) -> SkillStatusView | None: ...

    async def report(
        self, skill_id: UUID, validation_id: UUID | None = None
    ) -> tuple[UUID, ReportRef] | None:
        """This or the newest ended validation of a skill and where its report lies.

        Full tests count only where one is asked about.
        """
        ...

    async def bundle(self, skill_id: UUID) -> BundleView | None:
        """Of the newest revision."""
        ...

    async def validations(self, query: ListValidations) -> ValidationHistory:
        """The validations of a skill, newest first; none for one that is unknown."""
        ...

    async def versions(self) -> Sequence[Version]:
        """Every runtime version, newest first."""
        ...

    async def full_test(self, full_test_id: UUID) -> FullTestView | None: ...

    async def full_tests(self, query: ListFullTests) -> FullTestPage:
        """Newest first."""
        ...

    async def abandoned(self) -> Sequence[Abandoned]:
        """The open parts of cancelled full tests, and of skills that are no longer approved."""
        ...

    async def audit(self, query: ListAudit) -> AuditPage: ...

    async def note_progress(self, validation_id: UUID, detail: str, done: int, total: int) -> None:
        """Keep the newest live progress, for those who ask rather than listen."""
        ...


@dataclass(frozen=True, slots=True)
class Answered:
    """What came of a question that has a key."""

    fingerprint: str
    reply: dict[str, object] | None
    problem: dict[str, object] | None


class Answers(Protocol):
    """First answers by key, for a day. Every method raises `Unavailable`."""

    async def find(self, key: str) -> Answered | None: ...

    def claimed(self, key: str, fingerprint: str) -> AbstractContextManager[None]:
        """The next transaction within takes the key along, or nothing of it happens.

        It then raises `KeyTaken`, once whoever has the key is through.
        """
        ...

    async def keep(self, key: str, answered: Answered) -> None:
        """Keep the answer, unless there is one."""
        ...


class KeyTaken(Exception):
    """Somebody else had this key first."""


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
