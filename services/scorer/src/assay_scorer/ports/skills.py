from collections.abc import Collection, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol
from uuid import UUID

from assay_contracts.rpc import (
    BundleView,
    ListSkills,
    RegisterReply,
    RegisterSkill,
    SkillDetail,
    SkillPage,
    SkillStatusView,
)
from assay_contracts.skills import SkillStatus
from assay_scorer.domain.review import SkillUnderReview
from assay_scorer.domain.runtime_versions import PlacedSkill
from assay_scorer.domain.uploads import KnownSkill
from assay_scorer.domain.validation import Validation


class SkillQueries(Protocol):
    async def skills(self, query: ListSkills) -> SkillPage: ...

    async def skill(self, skill_id: UUID) -> SkillDetail | None: ...

    async def status(self, skill_id: UUID) -> SkillStatusView | None: ...

    async def bundle(self, skill_id: UUID) -> BundleView | None:
        """Of the newest revision."""
        ...


class SkillChanges(Protocol):
    """Within a transaction. Whoever locks runtime versions does so before any skill."""

    async def lock_skill(self, skill_id: UUID) -> SkillUnderReview | None: ...

    async def lock_placed_skills(self) -> Sequence[PlacedSkill]:
        """All that are approved, and all that a rollback hid, by name."""
        ...

    async def set_status(self, skill_id: UUID, status: SkillStatus) -> None: ...

    async def set_statuses(self, skills: Collection[UUID], status: SkillStatus) -> None: ...

    async def delete_skill(self, skill_id: UUID) -> None:
        """Remove the skill, its revisions and its validations."""
        ...


class UploadTransaction(Protocol):
    async def lock_skill_named(self, name: str, sha256: str) -> KnownSkill | None:
        """The skill of this name, compared with content of this digest."""
        ...

    async def earlier_reply(self, upload_id: UUID) -> RegisterReply | None:
        """What this very upload was answered before."""
        ...

    async def add_revision(self, upload: RegisterSkill, validation: Validation) -> None:
        """Record the next revision, the validation it is to start, and the news of it.

        Raises UploadIdTaken.
        """
        ...


class UploadRecords(Protocol):
    """Where uploads are recorded."""

    async def add_skill(self, upload: RegisterSkill, validation: Validation) -> bool:
        """As `add_revision`, with a skill for its first, in one go; False if the name is taken.

        Raises UploadIdTaken.
        """
        ...

    def transaction(self) -> AbstractAsyncContextManager[UploadTransaction]: ...


class UploadIdTaken(Exception):
    """Another upload has this id."""
