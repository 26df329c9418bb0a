"""A full test: every approved skill validated again, with its stored tasks and two new ones."""

from typing import ClassVar, Final, Literal
from uuid import UUID

from pydantic import AwareDatetime, Field

from assay_contracts.base import Message, Model
from assay_contracts.rpc import Repeatable, Rpc
from assay_contracts.validations import FullTestSkill, Verdict

NEW_TASKS: Final = 2
"""Written for a full test, beside the tasks that a skill was approved by."""

FullTestStatus = Literal["running", "completed", "cancelled"]


class FullTestCounts(Model):
    """How many skills a full test is about, and what is known of them."""

    total: int = Field(ge=0)
    done: int = Field(default=0, ge=0)
    passed: int = Field(default=0, ge=0)
    failed: int = Field(default=0, ge=0)
    inconclusive: int = Field(default=0, ge=0)
    worse: int = Field(default=0, ge=0)
    """Skills that passed when they were tested last and no longer do, or score lower."""


class FullTestSummary(Model):
    full_test_id: UUID
    status: FullTestStatus
    started_by: str
    runtime_version: str
    """The version that it is carried out on: `v1.<n>`."""
    started_at: AwareDatetime
    completed_at: AwareDatetime | None = None
    """When the last of its skills had ended; a cancelled one takes a moment to get there."""
    counts: FullTestCounts


class FullTestView(FullTestSummary):
    skills: tuple[FullTestSkill, ...]
    """By name."""


class StartFullTest(Repeatable, Rpc[FullTestView]):
    """Test all approved skills. One without any skill completes at once.

    Refused with `VALIDATION_IN_PROGRESS`, and the id of the one under way, while there is one.
    """

    SUBJECT: ClassVar[str] = "records.start-full-test"
    REPLY = FullTestView

    actor: str = Field(min_length=1)


class GetFullTest(Rpc[FullTestView]):
    """Refused with `FULL_TEST_NOT_FOUND`."""

    SUBJECT: ClassVar[str] = "records.get-full-test"
    REPLY = FullTestView

    full_test_id: UUID


class FullTestPage(Model):
    full_tests: tuple[FullTestSummary, ...]
    """Newest first."""
    total: int
    page: int
    size: int


class ListFullTests(Rpc[FullTestPage]):
    SUBJECT: ClassVar[str] = "records.list-full-tests"
    REPLY = FullTestPage

    page: int = Field(default=1, ge=1)
    size: int = Field(default=20, ge=1, le=100)


class CancelFullTest(Repeatable, Rpc[FullTestView]):
    """End what has not ended yet, as `inconclusive`, within moments of the answer.

    Refused with `FULL_TEST_NOT_FOUND`, or `INVALID_STATUS_TRANSITION` once it has ended.
    """

    SUBJECT: ClassVar[str] = "records.cancel-full-test"
    REPLY = FullTestView

    full_test_id: UUID
    actor: str = Field(min_length=1)


class FullTestProgressed(Message):
    """How far a full test is, live and lossy on purpose: whoever misses one sees the next."""

    SUBJECT: ClassVar[str] = "full-test.progressed"

    full_test_id: UUID
    status: FullTestStatus
    counts: FullTestCounts
    ended: bool = False
    """Nothing more will change. A cancelled one still has skills to end for a moment."""


class FullTestOutcome(Model):
    """How one skill fared, for those who keep watch over skills."""

    skill_id: UUID
    skill_name: str
    validation_id: UUID
    verdict: Verdict
    overall: float | None
    worse: bool


class FullTestCompleted(Message):
    """A full test has ended, or was cancelled. Public; said exactly once for each full test."""

    SUBJECT: ClassVar[str] = "full-test.completed"

    full_test_id: UUID
    status: FullTestStatus
    started_by: str
    runtime_version: str
    started_at: AwareDatetime
    completed_at: AwareDatetime
    counts: FullTestCounts
    skills: tuple[FullTestOutcome, ...]
    """By name. Those that had not been tested when it was cancelled are `inconclusive`."""

    def dedup_key(self) -> str:
        return f"{self.SUBJECT}:{self.full_test_id}"


QUESTIONS: Final[tuple[type[Message], ...]] = (
    StartFullTest,
    GetFullTest,
    ListFullTests,
    CancelFullTest,
)
"""What the gateway asks of the records here."""
