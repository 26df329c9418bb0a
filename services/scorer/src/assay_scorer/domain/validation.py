"""A validation as the conductor sees it: one value that facts move from step to step."""

from datetime import datetime, timedelta
from uuid import UUID

from assay_contracts.base import Lane, Model
from assay_contracts.grades import RunGraded
from assay_contracts.reports import Prose
from assay_contracts.runs import ModelUse, RunFinished
from assay_contracts.skills import BundleRef, Finding, SkillManifest, SkillStatus, ValidationStage
from assay_contracts.tasks import Task
from assay_contracts.validations import ProgressStep, Scores, ValidationKind, Verdict

SIMPLE_FILES = 5
COMPLEX_FILES = 20
COMPLEX_DEPENDENCIES = 3
SIMPLE_LIMIT = timedelta(seconds=300)
MEDIUM_LIMIT = timedelta(seconds=600)
COMPLEX_LIMIT = timedelta(seconds=900)

STEPS_WITH_MODELS: tuple[ProgressStep, ...] = (
    "planning",
    "online_run",
    "online_grading",
    "offline_run",
    "offline_grading",
    "reporting",
)
TOKEN_SHARES = (15, 30, 10, 30, 10, 5)
"""Percent of a validation's tokens set aside for each of these steps."""


class Validation(Model):
    """Everything known about one attempt to validate one revision."""

    validation_id: UUID
    skill_id: UUID
    skill_name: str
    revision: int
    kind: ValidationKind
    bundle: BundleRef
    manifest: SkillManifest
    findings: tuple[Finding, ...]
    queued_at: datetime
    traceparent: str | None = None
    """The trace of the request that asked for it: its work belongs to that, whoever starts it."""

    step: ProgressStep = "queued"
    attempt: int = 1
    """Of the current step; each time work is asked for again it is a new attempt."""
    lane: Lane = "shared"
    failures: int = 0
    """Failed attempts of the current step that count against its budget."""
    token_budget: int | None = None
    """What models may use for the whole of it; none means no bound."""
    wasted_tokens: int = 0
    """What failed attempts have cost."""

    started_at: datetime | None = None
    deadline: datetime | None = None
    completed_at: datetime | None = None

    tasks: tuple[Task, ...] = ()
    planner: ModelUse | None = None
    online: RunFinished | None = None
    online_graded: RunGraded | None = None
    offline: RunFinished | None = None
    offline_graded: RunGraded | None = None
    prose: Prose | None = None
    reporter: ModelUse | None = None

    scores: Scores | None = None
    verdict: Verdict | None = None
    reason: str | None = None

    @property
    def step_id(self) -> str:
        """Natural key of the current step."""
        return f"{self.validation_id}.{self.step}"

    @property
    def candidate(self) -> str | None:
        """The environment kept from the online run."""
        return self.online.candidate if self.online else None

    @property
    def models(self) -> tuple[ModelUse, ...]:
        """What every model that took part cost, in order of use."""
        uses = (
            self.planner,
            self.online.model if self.online else None,
            self.online_graded.model if self.online_graded else None,
            self.offline.model if self.offline else None,
            self.offline_graded.model if self.offline_graded else None,
            self.reporter,
        )
        return tuple(use for use in uses if use is not None)

    @property
    def tokens_allowed(self) -> int | None:
        """What the current step may use: its share, and what the steps before it left over."""
        if self.token_budget is None:
            return None
        so_far = sum(TOKEN_SHARES[: STEPS_WITH_MODELS.index(self.step) + 1])
        spent = self.wasted_tokens + sum(use.tokens for use in self.models)
        return max(0, self.token_budget * so_far // 100 - spent)

    @property
    def stage(self) -> ValidationStage:
        """The stage a person sees."""
        if self.step == "queued":
            return "queued"
        if self.step != "done":
            return "layer1"
        assert self.verdict is not None
        stages: dict[Verdict, ValidationStage] = {
            "passed": "completed",
            "failed": "failed",
            "inconclusive": "inconclusive",
        }
        return stages[self.verdict]

    @property
    def skill_status(self) -> SkillStatus:
        """What this validation makes of the skill's status."""
        if self.step == "queued":
            return "pending"
        if self.step != "done":
            return "validating"
        return "rejected" if self.verdict == "failed" else "pending"


def time_limit(manifest: SkillManifest) -> timedelta:
    """How long a validation of this skill may take."""
    declared = manifest.dependencies
    dependencies = len(declared.pip) + len(declared.npm) + len(declared.other)
    if len(manifest.files) > COMPLEX_FILES or dependencies > COMPLEX_DEPENDENCIES:
        return COMPLEX_LIMIT
    if len(manifest.files) > SIMPLE_FILES or dependencies:
        return MEDIUM_LIMIT
    return SIMPLE_LIMIT
