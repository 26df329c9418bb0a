"""A validation: from the request for tasks to its one public completion."""

from typing import ClassVar, Literal
from uuid import UUID

from pydantic import AwareDatetime, Field

from assay_contracts.base import Message, Model, ModelUse, Result, Work
from assay_contracts.scores import Scores
from assay_contracts.skills import BundleRef, Sha256
from assay_contracts.tasks import NearMiss, Task

Verdict = Literal["passed", "failed", "inconclusive"]
ValidationKind = Literal["initial", "revalidation", "full_test"]
ProgressStep = Literal[
    "queued",
    "planning",
    "online_run",
    "online_grading",
    "offline_run",
    "offline_grading",
    "repeating",
    "regression",
    "mending",
    "reporting",
    "done",
]


class ValidationPlanned(Result):
    """The tasks are written."""

    SUBJECT: ClassVar[str] = "validation.planned"

    tasks: tuple[Task, ...] = ()
    near_misses: tuple[NearMiss, ...] = ()
    model: ModelUse | None = None
    judge_trace: str | None = None
    """Key in the `judging` bucket: what the judge's agents did, for as long as it is kept there."""


class ValidationRequested(Work):
    """Write blind tasks for this skill."""

    SUBJECT: ClassVar[str] = "validation.requested"
    RESULT = ValidationPlanned

    bundle: BundleRef
    task_count: int = Field(default=3, ge=1, le=5)
    known_tasks: tuple[Task, ...] = ()
    """Tasks there are already: new ones are to be unlike them."""


class ReportRef(Model):
    """Where the report lies."""

    url: str
    """Path below the gateway's address."""
    json_key: str
    markdown_key: str
    """Keys in the `reports` bucket."""
    attestation_key: str = ""
    """Key of the signed verdict there, if the deployment signs; empty in older messages."""


class ValidationTimings(Model):
    queued_at: AwareDatetime
    started_at: AwareDatetime | None
    completed_at: AwareDatetime
    model_seconds: float
    command_seconds: float


class ValidationCompleted(Message):
    """A validation has ended. Public; said exactly once for each validation."""

    SUBJECT: ClassVar[str] = "validation.completed"

    validation_id: UUID
    skill_id: UUID
    skill_name: str
    revision: int
    kind: ValidationKind
    bundle_sha256: Sha256
    verdict: Verdict
    reason: str
    """One line: why this verdict."""
    scores: Scores | None
    """None when inconclusive before anything could be scored."""
    models: tuple[str, ...]
    """`provider:model` of every model that took part."""
    timings: ValidationTimings
    report: ReportRef

    def dedup_key(self) -> str:
        return f"{self.SUBJECT}:{self.validation_id}"


class ValidationProgressed(Message):
    """Live progress, lossy on purpose: whoever misses one sees the next."""

    SUBJECT: ClassVar[str] = "validation.progressed"

    validation_id: UUID
    skill_id: UUID
    step: ProgressStep
    detail: str = Field(max_length=500)
    tasks_done: int = Field(default=0, ge=0)
    tasks_total: int = Field(default=0, ge=0)


class FullTestSkill(Model):
    """One skill in a full test, as far as it has come."""

    skill_id: UUID
    skill_name: str
    validation_id: UUID
    step: ProgressStep
    tasks: int = Field(default=0, ge=0)
    """How many there are: the stored ones and the new ones."""
    verdict: Verdict | None = None
    reason: str | None = None
    scores: Scores | None = None
    scores_before: Scores | None = None
    """From the last full test of the skill, or else the validation it was approved by."""
    worse: bool = False
    changes: tuple[str, ...] = ()
    """For one that got worse: what has changed since then, a line each."""
    completed_at: AwareDatetime | None = None


class CleanupFinished(Result):
    """The snapshots are gone, or the reason why not."""

    SUBJECT: ClassVar[str] = "cleanup.finished"


class CleanupRequested(Work):
    """Delete snapshots that nobody needs any more."""

    SUBJECT: ClassVar[str] = "cleanup.requested"
    RESULT = CleanupFinished

    snapshots: tuple[str, ...]


class KeepFinished(Result):
    """The snapshots are kept, or the reason why not."""

    SUBJECT: ClassVar[str] = "keep.finished"

    gone: bool = False
    """With a failure: one of them does not exist. Any other failure says nothing about them."""


class KeepRequested(Work):
    """Keep snapshots until somebody asks for their deletion, however old they grow."""

    SUBJECT: ClassVar[str] = "keep.requested"
    RESULT = KeepFinished

    snapshots: tuple[str, ...]
