"""The report: numbers from code, prose from the report writer."""

from typing import ClassVar, Literal
from uuid import UUID

from pydantic import AwareDatetime, Field

from assay_contracts.attribution import Defect
from assay_contracts.base import Model, ModelUse, Result, Work
from assay_contracts.confidence import Confidence
from assay_contracts.costs import CostReport
from assay_contracts.coverage import Coverage
from assay_contracts.environments import SealedEnvironment
from assay_contracts.grades import Grade
from assay_contracts.runs import (
    CountsNetworkCalls,
    Ecosystem,
    Installation,
    NetworkCall,
    Package,
    RunKind,
    RunTimings,
    SandboxProof,
    TaskOutcome,
)
from assay_contracts.scores import Scores
from assay_contracts.skills import Dependencies, Finding, Sha256, ValidationStage
from assay_contracts.tasks import Task, TaskId
from assay_contracts.validations import ValidationKind, Verdict

DependencyMode = Literal["lenient", "strict"]
"""What comes of a package that is neither declared nor needed by one that is: `lenient` warns of
it, `strict` fails the validation."""
Language = Literal["en", "zh"]
"""Of a report's reader: English or Chinese."""
LiftEffect = Literal["adds", "nothing_measurable", "worse"]
"""What a skill does for the grades of its tasks."""
PackageOrigin = Literal["declared", "pulled_in", "undeclared"]


class RunReport(CountsNetworkCalls, Model):
    """One run as the report shows it."""

    kind: RunKind
    outcomes: tuple[TaskOutcome, ...]
    grades: tuple[Grade, ...]
    network_calls: tuple[NetworkCall, ...]
    network_calls_omitted: int = 0
    sandbox: SandboxProof | None
    packages_before: int = 0
    """How many were installed before the tasks; `packages_added` came while they were done."""
    packages_after: int = 0
    packages_added: tuple[Package, ...]
    installations: tuple[Installation, ...] = ()
    """What the skill declares and was installed before the tasks."""
    sealed: SealedEnvironment | None = None
    """What later runs have of what it installed, and what was left behind."""
    timings: RunTimings | None
    lost_offline: tuple[TaskId, ...] = ()
    """In an offline run: tasks that were done online and less here, which its score counts."""
    failure: str | None = None


class DependencyChange(Model):
    """A package that the online run left at another version than it found."""

    ecosystem: Ecosystem
    package: str
    old_version: str
    new_version: str | None
    """None when it is gone."""
    used_by: tuple[str, ...]
    """Approved skills, and the one under test, that declare it."""
    suggested_constraint: str
    """A requirement that keeps the version the approved skills were tested with."""


class InstalledPackage(Model):
    """A package that came while the tasks were done, or came at another version."""

    ecosystem: Ecosystem
    package: str
    version: str
    version_before: str | None
    """None when it was not there."""
    origin: PackageOrigin
    """`pulled_in`: a declared package needs it, or something that one needs."""
    needed_by: tuple[str, ...] = ()
    """Packages, on the way from the declared ones, whose metadata says that they need it."""


class UnmetDependency(Model):
    """A declared package that was not there after the tasks, or at no version that will do."""

    ecosystem: Ecosystem
    requirement: str
    """As the skill writes it."""
    installed_version: str | None


class ConstraintAsked(Model):
    by: str
    """A skill, or a package and its version."""
    constraint: str
    """In the notation of pip or npm; `any` where all versions will do."""


class DependencyConflict(Model):
    """A package over which the skill under test and approved skills cannot agree."""

    ecosystem: Ecosystem
    package: str
    version_before: str | None
    version_after: str | None
    """Before the tasks of the online run and after; None where it was not there."""
    asked: tuple[ConstraintAsked, ...]
    skills: tuple[str, ...]
    """Every skill that needs the package, the one under test included."""
    resolved_version: str | None
    """A version, of those that are known, that all of them allow."""
    suggested_constraint: str
    """What the skill under test could ask for that the others can live with."""


class MendingReport(Model):
    """The attempt to make an environment in which all skills work, with other versions."""

    installed: tuple[Package, ...]
    """Installed instead of what broke skills."""
    broken: tuple[str, ...]
    """The skills that were broken, each with its tasks and the packages that changed."""
    retested: tuple[str, ...]
    """Skills whose tasks were done and graded once more."""
    succeeded: bool
    """Then the mended environment is the one that an approval makes a runtime version."""
    detail: str = ""
    """Why it did not help."""


class DependencyReport(Model):
    """What was declared against what was installed, before the tasks and after."""

    mode: DependencyMode
    installed: tuple[InstalledPackage, ...] = ()
    removed: tuple[Package, ...] = ()
    unmet: tuple[UnmetDependency, ...] = ()
    conflicts: tuple[DependencyConflict, ...] = ()
    mending: MendingReport | None = None
    """None when nothing was tried."""


RegressionMode = Literal["changed", "all"]
"""Which approved skills layer 2 runs: those for which something changed, or all of them always."""
RegressionCause = Literal[
    "never_tested",
    "failed_before",
    "skill",
    "tasks",
    "environment",
    "models",
    "prompts",
    "neighbours",
    "over_broad",
    "all_demanded",
]
"""Why an approved skill was run again: what differs from its last result. `neighbours`: a skill
that could be taken for it came or went. `over_broad`: the skill under test was chosen for what it
is not for, so that it may be chosen for anything."""
TheftEvidence = Literal["observed", "words"]
"""`observed`: agents chose the skill under test in a run. `words`: nobody tried; its description
fits the stored tasks at least as well."""


class RegressionTask(Model):
    """One stored task of an approved skill, carried out on the candidate."""

    task_id: TaskId
    grade: int
    grade_before: int | None
    """In the offline run of the validation that the skill was approved by."""
    completed: bool
    reasons: str


class RegressionReport(Model):
    """How an approved skill fared on the candidate."""

    skill_id: UUID
    skill_name: str
    passed: bool
    tasks: tuple[RegressionTask, ...]
    explained_by: tuple[DependencyChange, ...] = ()
    """For one that failed: changes of packages that it declares."""
    stood: bool = False
    """Nothing that the result rests on has changed, so that the stored one stands: nothing ran."""
    run_because: tuple[RegressionCause, ...] = ()
    """For one that ran: what differs from its last result."""
    tested_in: UUID | None = None
    """For one that stood: the validation that its result comes from."""
    tested_at: AwareDatetime | None = None


class RegressionRule(Model):
    """By what layer 2 decided which approved skills to run."""

    mode: RegressionMode
    environment_digest: str = ""
    """Of the environment that the skill under test leaves."""
    environment_changed: bool = False
    """Whether that is another than the one it started from."""
    ran: int = 0
    stood: int = 0


class TakenTrigger(Model):
    """An approved skill from which the one under test takes tasks away."""

    skill_name: str
    task_ids: tuple[TaskId, ...]
    """Stored tasks of the approved skill."""
    evidence: TheftEvidence
    failed: tuple[TaskId, ...] = ()
    """Those that were not completed then."""


class ChosenInstead(Model):
    """A task of the online run in which the skill under test was not used, and others were."""

    task_id: TaskId
    skills: tuple[str, ...]


class NearMissReport(Model):
    """A prompt for which the skill should stay silent, and which skills were opened for it."""

    prompt: str
    skills_opened: tuple[str, ...]
    silent: bool
    """The skill under test was not opened."""


class TriggerReport(Model):
    """What the skill under test was chosen among, and when it should not be. Not in the score."""

    crowd: tuple[str, ...]
    """Every skill that agents saw beside it in the online run."""
    neighbours: tuple[str, ...] = ()
    """Those of the crowd that are built in."""
    chosen_instead: tuple[ChosenInstead, ...] = ()
    near_misses: tuple[NearMissReport, ...] = ()
    """Those that could be tried."""
    taken: tuple[TakenTrigger, ...] = ()
    """Approved skills that lose tasks to the skill under test."""

    @property
    def silent(self) -> int:
        """In how many near misses the skill stayed silent."""
        return sum(each.silent for each in self.near_misses)


class ControlTask(Model):
    """The grades of one task with the skill under test, and without it."""

    task_id: TaskId
    grade: int
    grade_without: int


class ControlReport(Model):
    """The online run's tasks once more without the skill under test. Not in the score."""

    tasks: tuple[ControlTask, ...] = ()
    lift: float | None = None
    """Mean of the differences, in grades; None where there was no control."""
    effect: LiftEffect | None = None
    missing: str = ""
    """Why there was no control."""


class Prose(Model):
    """What the report writer adds. It holds no number that code did not compute."""

    summary: str = Field(max_length=500)
    """One line."""
    strengths: tuple[str, ...] = ()
    weaknesses: tuple[str, ...] = ()
    recommendations: tuple[str, ...] = ()


class Report(Model):
    """Everything a person needs to decide, as data. The Markdown is made from it."""

    validation_id: UUID
    skill_id: UUID
    skill_name: str
    description: str = ""
    """By which agents find the skill; empty in reports from before this was kept."""
    revision: int
    kind: ValidationKind
    bundle_sha256: Sha256
    validation_stage: ValidationStage
    verdict: Verdict
    reason: str
    scores: Scores | None
    layer1_passed: bool | None
    layer2_passed: bool | None
    findings: tuple[Finding, ...]
    dependencies: Dependencies
    dependency_report: DependencyReport | None = None
    """None when there was no run."""
    tasks: tuple[Task, ...]
    runs: tuple[RunReport, ...]
    trigger: TriggerReport | None = None
    """None when there was no online run."""
    control: ControlReport | None = None
    """None when none was asked for, as where no LLM takes part."""
    runtime_version: str = "v1.0"
    """What the online run started from."""
    coverage: Coverage | None = None
    """What of the documented the online run tried; none in older reports."""
    defects: tuple[Defect, ...] = ()
    """Programs of the skill that never worked in the online run."""
    regressions: tuple[RegressionReport, ...] = ()
    """One for each skill that was approved when the validation started."""
    regression_rule: RegressionRule | None = None
    """None when there was no layer 2."""
    confidence: Confidence | None = None
    """What the score rests on; None when nothing was scored."""
    costs: CostReport | None = None
    """None in reports from before this was kept."""
    prose: Prose | None
    """None when the writer failed: the report then says so."""
    models: tuple[ModelUse, ...]
    """What the results that were taken rest on; `costs` has all that was spent."""
    rubric_version: str
    queued_at: AwareDatetime
    started_at: AwareDatetime | None
    completed_at: AwareDatetime


class ReportWritten(Result):
    """The prose is written."""

    SUBJECT: ClassVar[str] = "report.written"

    prose: Prose | None = None
    model: ModelUse | None = None


class ReportRequested(Work):
    """Write the prose for this report."""

    SUBJECT: ClassVar[str] = "report.requested"
    RESULT = ReportWritten

    report: Report
