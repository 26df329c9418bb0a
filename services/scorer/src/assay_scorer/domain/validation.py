"""A validation as the conductor sees it: one value that facts move from step to step."""

from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from assay_contracts.base import Lane, Model
from assay_contracts.grades import RunGraded
from assay_contracts.reports import DependencyChange, Prose
from assay_contracts.runs import ModelUse, RunFinished
from assay_contracts.skills import BundleRef, Finding, SkillManifest, SkillStatus, ValidationStage
from assay_contracts.tasks import Task
from assay_contracts.validations import ProgressStep, Scores, ValidationKind, Verdict
from assay_scorer.domain import scoring
from assay_scorer.domain.dependencies import explanations
from assay_scorer.domain.environment import Environment, Regression, summed

SIMPLE_FILES = 5
COMPLEX_FILES = 20
COMPLEX_DEPENDENCIES = 3
SIMPLE_LIMIT = timedelta(seconds=300)
MEDIUM_LIMIT = timedelta(seconds=600)
COMPLEX_LIMIT = timedelta(seconds=900)
REGRESSION_LIMIT = timedelta(seconds=60)
"""More for each approved skill."""

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


STAGES: dict[Verdict, ValidationStage] = {
    "passed": "completed",
    "failed": "failed",
    "inconclusive": "inconclusive",
}
REGRESSION_SHARES = {"regression": 30, "regression_grading": 10}
"""Percent, for each approved skill, of what the rest of the validation may use, and beside it."""

PieceOfWork = ProgressStep | Literal["regression_grading"]


class Piece(Model):
    """A piece of work that was asked for and is not answered yet."""

    what: PieceOfWork
    skill: str | None = None
    """The approved skill that a regression is about."""
    attempt: int = 1
    """Each time it is asked for again is a new attempt."""
    lane: Lane = "shared"
    failures: int = 0
    """Failed attempts that count against its budget."""

    @property
    def key(self) -> str:
        return self.what if self.skill is None else f"{self.what}.{self.skill}"


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

    environment: Environment = Environment()
    """What it started from."""

    step: ProgressStep = "queued"
    pieces: tuple[Piece, ...] = ()
    """Everything asked for and not answered; several at once only in layer 2."""
    token_budget: int | None = None
    """What models may use for the whole of it; none means no bound."""
    wasted_tokens: int = 0
    """What failed attempts have cost, layer 2 apart."""

    started_at: datetime | None = None
    deadline: datetime | None = None
    completed_at: datetime | None = None

    tasks: tuple[Task, ...] = ()
    planner: ModelUse | None = None
    online: RunFinished | None = None
    online_graded: RunGraded | None = None
    offline: RunFinished | None = None
    offline_graded: RunGraded | None = None
    regressions: tuple[Regression, ...] = ()
    prose: Prose | None = None
    reporter: ModelUse | None = None

    scores: Scores | None = None
    verdict: Verdict | None = None
    reason: str | None = None

    def step_id(self, piece: Piece) -> str:
        """Natural key of a piece of work: equal for every attempt."""
        return f"{self.validation_id}.{piece.key}"

    def piece(self, step_id: str) -> Piece | None:
        """The piece of work of that key, if it is not answered yet."""
        return next((piece for piece in self.pieces if self.step_id(piece) == step_id), None)

    def regression(self, skill: str | None) -> Regression:
        """How far the approved skill of that name has come in layer 2."""
        return next(each for each in self.regressions if each.skill.name == skill)

    @property
    def candidate(self) -> str | None:
        """The environment kept from the online run."""
        return self.online.candidate if self.online else None

    @property
    def models(self) -> tuple[ModelUse, ...]:
        """What every model that took part cost, in order of use, layer 2 summed up."""
        layer2 = summed(tuple(use for each in self.regressions for use in each.models))
        return (*self._layer1_models, *layer2, *((self.reporter,) if self.reporter else ()))

    @property
    def _layer1_models(self) -> tuple[ModelUse, ...]:
        uses = (
            self.planner,
            self.online.model if self.online else None,
            self.online_graded.model if self.online_graded else None,
            self.offline.model if self.offline else None,
            self.offline_graded.model if self.offline_graded else None,
        )
        return tuple(use for use in uses if use is not None)

    def tokens_allowed(self, piece: Piece) -> int | None:
        """What a piece of work may use: its share, and what the steps before it left over."""
        if self.token_budget is None:
            return None
        if piece.what in REGRESSION_SHARES:
            share = self.token_budget * REGRESSION_SHARES[piece.what] // 100
            return max(0, share - self.regression(piece.skill).wasted_tokens)
        so_far = sum(TOKEN_SHARES[: STEPS_WITH_MODELS.index(self.step) + 1])
        spent = self.wasted_tokens + sum(use.tokens for use in self._layer1_models)
        return max(0, self.token_budget * so_far // 100 - spent)

    @property
    def layer1_passed(self) -> bool | None:
        """None until it is known, and when it will never be."""
        if self.scores is None or (self.scores.offline is None and self.verdict is None):
            return None
        return self.scores.offline is not None and self.scores.overall >= scoring.OVERALL_PASS

    @property
    def layer2_passed(self) -> bool | None:
        """None until it is known, and when there was no cause to find out."""
        graded = all(each.graded is not None for each in self.regressions)
        if self.verdict in (None, "inconclusive") or not self.layer1_passed or not graded:
            return None
        return not self.broken

    @property
    def broken(self) -> tuple[Regression, ...]:
        """The approved skills that no longer work on the candidate."""
        return tuple(each for each in self.regressions if each.failed_tasks)

    def explained_by(self, regression: Regression) -> tuple[DependencyChange, ...]:
        """The changes of packages that explain why an approved skill no longer works."""
        if self.online is None or not regression.failed_tasks:
            return ()
        return explanations(
            regression.skill.dependencies,
            self.online.packages_before,
            self.online.packages_after,
            (
                *((each.name, each.dependencies) for each in self.environment.approved),
                (self.skill_name, self.manifest.dependencies),
            ),
        )

    @property
    def stage(self) -> ValidationStage:
        """The stage a person sees."""
        if self.step == "queued":
            return "queued"
        if self.step != "done":
            return "layer2" if self.layer1_passed else "layer1"
        assert self.verdict is not None
        return STAGES[self.verdict]

    @property
    def tasks_done(self) -> int:
        """In layer 2: approved skills tested again. In layer 1 only the runner knows."""
        graded = sum(each.graded is not None for each in self.regressions)
        return graded if self.step == "regression" else 0

    @property
    def tasks_total(self) -> int:
        return len(self.regressions) if self.step == "regression" else len(self.tasks)

    @property
    def skill_status(self) -> SkillStatus:
        """What this validation makes of the skill's status."""
        if self.step == "queued":
            return "pending"
        if self.step != "done":
            return "validating"
        return "rejected" if self.verdict == "failed" else "pending"

    @property
    def limit(self) -> timedelta:
        """How long it may take, layer 2 included."""
        return time_limit(self.manifest) + REGRESSION_LIMIT * len(self.environment.approved)


def time_limit(manifest: SkillManifest) -> timedelta:
    """How long a validation of this skill may take."""
    declared = manifest.dependencies
    dependencies = len(declared.pip) + len(declared.npm) + len(declared.other)
    if len(manifest.files) > COMPLEX_FILES or dependencies > COMPLEX_DEPENDENCIES:
        return COMPLEX_LIMIT
    if len(manifest.files) > SIMPLE_FILES or dependencies:
        return MEDIUM_LIMIT
    return SIMPLE_LIMIT
