from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from assay_contracts.full_tests import (
    FullTestOutcome,
    FullTestPage,
    FullTestSummary,
    FullTestView,
    ListFullTests,
)
from assay_contracts.validations import FullTestSkill
from assay_scorer.domain.full_tests import AbandonedTest, SkillToTest
from assay_scorer.domain.validation import Validation


class FullTestQueries(Protocol):
    async def full_test(self, full_test_id: UUID) -> FullTestView | None: ...

    async def full_tests(self, query: ListFullTests) -> FullTestPage:
        """Newest first."""
        ...


class AbandonedTests(Protocol):
    async def abandoned_tests(self) -> Sequence[AbandonedTest]:
        """The open parts of cancelled full tests, and of skills that are no longer approved."""
        ...


class FullTestStart(Protocol):
    """Within a transaction."""

    async def lock_approved_skills(self) -> Sequence[SkillToTest]:
        """By name."""
        ...

    async def open_full_test(self, full_test: FullTestSummary, runtime_version: int) -> UUID | None:
        """Record a full test, unless one is under way: its id is returned then."""
        ...

    async def queue_tests(self, validations: Sequence[Validation], now: datetime) -> None:
        """Save the queued validations of a full test, which are the parts of its skills in it."""
        ...


class FullTestEnd(Protocol):
    """Within a transaction. A full test is locked after all else."""

    async def lock_full_test(self, full_test_id: UUID) -> FullTestSummary | None: ...

    async def save_full_test(
        self, full_test: FullTestSummary, *, cancelled_by: str | None = None
    ) -> None: ...

    async def baseline(self, validation: Validation) -> Validation | None:
        """What a skill's part in a full test is compared with."""
        ...

    async def save_outcome(self, full_test_id: UUID, tested: FullTestSkill) -> None:
        """Keep how a skill fared in a full test."""
        ...

    async def outcomes(self, full_test_id: UUID) -> Sequence[FullTestOutcome]:
        """How all skills fared in a full test that has ended, by name."""
        ...

    async def outcome(self, validation_id: UUID) -> FullTestOutcome | None:
        """How a skill fared in a full test, by its part in it; None if it was in none."""
        ...


class FullTestUnderWay(Protocol):
    """Within a transaction."""

    async def version_under_test(self) -> int | None:
        """The number of the version that the full test under way is carried out on."""
        ...

    async def open_test(self, skill_id: UUID) -> UUID | None:
        """The validation that is the skill's open part in a full test."""
        ...
