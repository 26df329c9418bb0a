"""A validation as the conductor sees it: one value that `decide` moves from step to step."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from assay_contracts.attribution import Defect
from assay_contracts.base import Lane, Model, ModelUse
from assay_contracts.confidence import RepeatsMissing
from assay_contracts.grades import RunGraded
from assay_contracts.reports import (
    DependencyConflict,
    DependencyMode,
    InstalledPackage,
    Prose,
    RegressionMode,
)
from assay_contracts.runs import Installation, RunFinished
from assay_contracts.scores import OVERALL_PASS_MARK, Scores
from assay_contracts.skills import (
    BundleRef,
    Dependencies,
    Finding,
    SkillManifest,
    SkillStatus,
    ValidationStage,
)
from assay_contracts.tasks import NearMiss, Task
from assay_contracts.validations import ProgressStep, ValidationKind, Verdict
from assay_scorer.domain import provenance, scoring
from assay_scorer.domain.conflicts import Demands
from assay_scorer.domain.control import Control
from assay_scorer.domain.defects import defects, unexercised
from assay_scorer.domain.dependencies import PackageChanges, package_changes
from assay_scorer.domain.environment import ApprovedSkill, Environment, Regression
from assay_scorer.domain.exercise import Exercised, exercised
from assay_scorer.domain.hindrances import Hindered, hindered_tasks
from assay_scorer.domain.ledger import Ledger, summed
from assay_scorer.domain.money import MoneyRules
from assay_scorer.domain.repeats import Repeats
from assay_scorer.domain.results import StoredResult
from assay_scorer.domain.retest import Mending, Retest
from assay_scorer.domain.time_limits import install_limit, time_limit
from assay_scorer.domain.work_items import WorkItem

REGRESSION_LIMIT = timedelta(seconds=60)
"""More for each approved skill."""

STAGES: dict[Verdict, ValidationStage] = {
    "passed": "completed",
    "failed": "failed",
    "inconclusive": "inconclusive",
}
Cause = Literal["deadline", "installing"]
"""`installing`: dependencies could not be installed."""


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
    full_test_id: UUID | None = None
    """The full test it is a part of. Its skill is approved, and stays what it is."""
    compared_with: UUID | None = None
    """In a full test: the last validation of the skill that came to a verdict."""

    environment: Environment = Environment()
    """What it started from."""
    dependency_mode: DependencyMode = "lenient"
    wants_control: bool = False
    """Whether a control is asked for where an LLM takes part."""
    min_lift: float | None = None
    """What a skill has to add to pass, in grades; none means that nothing is demanded."""

    step: ProgressStep = "queued"
    pieces: tuple[WorkItem, ...] = ()
    """Everything asked for and not answered, under the name it is stored by; several at once only
    in layer 2, the control apart."""
    token_budget: int | None = None
    """What models may use for the whole of it; none means no bound."""
    money: MoneyRules = MoneyRules()
    regression_mode: RegressionMode = "changed"
    repeats_allowed: int = 0
    known_results: tuple[StoredResult, ...] = ()
    """Of approved skills: looked up when layer 2 may begin, and not stored with the validation."""
    ledger: Ledger = ()
    """What every attempt has cost."""

    started_at: datetime | None = None
    deadline: datetime | None = None
    completed_at: datetime | None = None

    tasks: tuple[Task, ...] = ()
    near_misses: tuple[NearMiss, ...] = ()
    planner: ModelUse | None = None
    online: RunFinished | None = None
    online_graded: RunGraded | None = None
    offline: RunFinished | None = None
    offline_graded: RunGraded | None = None
    repeats: Repeats | None = None
    """None when nothing was repeated."""
    repeats_missing: RepeatsMissing | None = None
    """Why nothing was, where it could have changed the verdict."""
    regressions: tuple[Regression, ...] = ()
    conflicts: tuple[DependencyConflict, ...] = ()
    mending: Mending | None = None
    """None when there was no cause for it, or nothing to try."""
    control: Control | None = None
    """None when none was asked for."""
    prose: Prose | None = None
    reporter: ModelUse | None = None

    scores: Scores | None = None
    verdict: Verdict | None = None
    reason: str | None = None
    passes_because: str | None = None
    """While it waits for its control alone: the reason why it passes, if it adds enough."""
    cause: Cause | None = None
    """Why it is inconclusive, where somebody may ask."""

    @property
    def is_full_test(self) -> bool:
        return self.full_test_id is not None

    @property
    def lane(self) -> Lane:
        """Where its work is asked for at first: a fresh upload never waits behind a full test."""
        return "background" if self.is_full_test else "shared"

    @property
    def stored_tasks(self) -> tuple[Task, ...]:
        """In a full test: the tasks that the skill was approved by."""
        if not self.is_full_test:
            return ()
        return self.environment.approved_as(self.skill_name).tasks

    def step_id(self, item: WorkItem) -> str:
        """Natural key of a work item: equal for every attempt."""
        return f"{self.validation_id}.{item.key}"

    def open_item(self, step_id: str) -> WorkItem | None:
        """The work item of that key, if it is not answered yet."""
        return next((item for item in self.pieces if self.step_id(item) == step_id), None)

    @property
    def control_items(self) -> tuple[WorkItem, ...]:
        """What of the control is asked for: it goes on whatever step comes next."""
        return tuple(item for item in self.pieces if item.is_control)

    @property
    def awaited(self) -> tuple[WorkItem, ...]:
        """What the step waits for."""
        return tuple(item for item in self.pieces if not item.is_control)

    def regression(self, skill: str | None) -> Regression:
        """How far the approved skill of that name has come in layer 2."""
        return next(each for each in self.regressions if each.skill.name == skill)

    def retest(self, skill: str | None) -> Retest:
        """How far the skill of that name has come in mending."""
        assert self.mending is not None
        return next(each for each in self.mending.retests if each.skill == skill)

    def tested(self, skill: str | None) -> ApprovedSkill:
        """The skill of that name, with the tasks that it is tested again by."""
        if skill != self.skill_name:
            return self.regression(skill).skill
        grades = self.offline_graded.grades if self.offline_graded else ()
        return ApprovedSkill(
            skill_id=self.skill_id,
            name=self.skill_name,
            bundle=self.bundle,
            tasks=self.tasks,
            grades={grade.task_id: grade.grade for grade in grades},
            dependencies=self.manifest.dependencies,
            description=self.manifest.description,
            time_limit_s=time_limit(self.manifest).total_seconds(),
        )

    @property
    def candidate(self) -> str | None:
        """The environment that becomes a runtime version: the online run's, or the mended one."""
        if self.mending is not None and self.mending.outcome == "mended":
            return self.mending.snapshot
        return self.online.candidate if self.online else None

    @property
    def candidate_expires_at(self) -> datetime | None:
        """Until when the candidate is there if nobody asks to keep it, as far as it was said."""
        if self.mending is not None and self.mending.outcome == "mended":
            return self.mending.snapshot_expires_at
        return self.online.candidate_expires_at if self.online else None

    @property
    def snapshots(self) -> frozenset[str]:
        """Every environment that it keeps, as long as it has not ended."""
        tried = self.mending.snapshot if self.mending else None
        return frozenset(name for name in (self.candidate, tried) if name is not None)

    @property
    def models(self) -> tuple[ModelUse, ...]:
        """What every model that took part cost, in order of use, layer 2 summed up."""
        tested = tuple(use for each in self.regressions for use in each.models)
        layer2 = summed((*tested, *(self.mending.costs if self.mending else ())))
        control = self.control.models if self.control else ()
        tries = self.repeats.tries if self.repeats else ()
        repeats = summed(use for each in tries for use in each.models)
        reporter = (self.reporter,) if self.reporter else ()
        return (*self._layer1_models, *repeats, *control, *layer2, *reporter)

    @property
    def _layer1_models(self) -> tuple[ModelUse, ...]:
        uses = (
            self.planner,
            self.online.model if self.online else None,
            self.online.near_miss_model if self.online else None,
            self.online_graded.model if self.online_graded else None,
            self.offline.model if self.offline else None,
            self.offline_graded.model if self.offline_graded else None,
        )
        return tuple(use for use in uses if use is not None)

    @property
    def measured(self) -> Scores | None:
        """What the grades and traces so far give; None before the online run is graded."""
        return scoring.scored(self.observed) if self.observed else None

    @property
    def observed(self) -> scoring.Observed | None:
        """What scores are computed from; None before the online run is graded."""
        if self.online is None or self.online_graded is None:
            return None
        repeats = self.repeats.done if self.repeats else ()
        return scoring.Observed(
            skill_name=self.skill_name,
            online=self.online,
            online_grades=self.online_graded.grades,
            offline=self.offline,
            offline_grades=self.offline_graded.grades if self.offline_graded else (),
            repeats=[(run, graded.grades) for run, graded in repeats],
        )

    @property
    def hindered(self) -> tuple[Hindered, ...]:
        """Tasks of the online run that were not done, for no fault of the skill."""
        grades = self.online_graded.grades if self.online_graded else ()
        return hindered_tasks("online", self.online, grades)

    @property
    def rehearsal_shows(self) -> Exercised | None:
        """What the online run shows of the documented; None where an LLM did it."""
        run = self.online
        if run is None or run.coverage is None or run.model is None or not run.model.is_rehearsal:
            return None
        return exercised(run.coverage)

    @property
    def uninstalled(self) -> Installation | None:
        """What the skill declares and could not be installed in the online run."""
        done = self.online.installations if self.online else ()
        return next((each for each in done if each.failure and each.required), None)

    @property
    def defects(self) -> tuple[Defect, ...]:
        """Programs of the skill that never worked in the online run."""
        return defects(self.online.outcomes) if self.online else ()

    @property
    def unexercised(self) -> tuple[str, ...]:
        """Documented programs, where agents ran none of them in the online run."""
        return unexercised(self.manifest, self.online.outcomes) if self.online else ()

    @property
    def layer1_passed(self) -> bool | None:
        """None until it is known, and when it will never be."""
        if self.scores is None or (self.scores.offline is None and self.verdict is None):
            return None
        if self.scores.offline is None or self.scores.overall < OVERALL_PASS_MARK:
            return False
        return not self.forbidden

    @property
    def layer2_passed(self) -> bool | None:
        """None until it is known, and when there was no cause to find out."""
        graded = all(each.is_known for each in self.regressions)
        if self.verdict in (None, "inconclusive") or not self.layer1_passed or not graded:
            return None
        if self.is_full_test:
            return None
        return not self.broken

    @property
    def broken(self) -> tuple[Regression, ...]:
        """The approved skills that no longer work on the candidate."""
        return tuple(each for each in self.regressions if each.is_broken)

    @property
    def untestable(self) -> tuple[Regression, ...]:
        """The approved skills that only a limit of ours kept from completing their tasks."""
        return tuple(each for each in self.regressions if each.hindered and not each.is_broken)

    @property
    def _declared(self) -> dict[str, Dependencies]:
        approved = {each.name: each.dependencies for each in self.environment.approved}
        return {**approved, self.skill_name: self.manifest.dependencies}

    @property
    def package_changes(self) -> PackageChanges:
        """The packages that the online run changed, and which skills need them."""
        before = self.online.packages_before if self.online else ()
        after = self.online.packages_after if self.online else ()
        return package_changes(before, after, self._declared)

    @property
    def demands(self) -> Demands:
        """What all skills ask of packages, and the versions that are known."""
        run = self.online
        after = run.packages_after if run else ()
        known = (*after, *run.packages_before, *run.offered) if run else ()
        return Demands(self.skill_name, self._declared, after, known)

    @property
    def installed(self) -> tuple[InstalledPackage, ...]:
        """What came while the tasks of layer 1 were done, each with where it comes from."""
        runs = (run for run in (self.online, self.offline) if run is not None)
        return tuple(
            dict.fromkeys(
                package
                for run in runs
                for package in provenance.installed(
                    self.manifest.dependencies, run.packages_before, run.packages_after
                )
            )
        )

    @property
    def forbidden(self) -> tuple[InstalledPackage, ...]:
        """What should not have been installed: in strict mode, what nothing declared needs."""
        if self.dependency_mode == "lenient":
            return ()
        return tuple(package for package in self.installed if package.origin == "undeclared")

    @property
    def stage(self) -> ValidationStage:
        """The stage a person sees."""
        if self.step == "queued":
            return "queued"
        if self.step != "done":
            return "layer2" if self.layer1_passed and not self.is_full_test else "layer1"
        assert self.verdict is not None
        return STAGES[self.verdict]

    @property
    def tasks_done(self) -> int:
        """Of `tasks_total`. While a run of layer 1 is under way, only the runner knows."""
        if again := self._tested_again:
            return sum(each.is_known for each in again)
        if self.step in ("online_run", "offline_run") or self.online is None:
            return 0
        run = self.offline if self.step == "offline_grading" else self.online
        return len(run.outcomes) if run else 0

    @property
    def tasks_total(self) -> int:
        return len(self._tested_again) or len(self.tasks)

    @property
    def _tested_again(self) -> Sequence[Regression | Retest]:
        if self.step == "mending" and self.mending is not None:
            return self.mending.retests
        return self.regressions if self.step == "regression" else ()

    @property
    def skill_status(self) -> SkillStatus:
        """What this validation makes of the skill's status; a full test makes nothing of it."""
        if self.is_full_test:
            return "approved"
        if self.step == "queued":
            return "pending"
        if self.step != "done":
            return "validating"
        return "rejected" if self.verdict == "failed" else "pending"

    @property
    def limit(self) -> timedelta:
        """How long it may take, layer 2 included."""
        regressions = 0 if self.is_full_test else len(self.environment.approved)
        installing = install_limit(self.manifest)
        return time_limit(self.manifest) + installing + REGRESSION_LIMIT * regressions
