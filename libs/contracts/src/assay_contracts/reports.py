"""The report: numbers from code, prose from the report writer."""

from typing import ClassVar
from uuid import UUID

from pydantic import AwareDatetime, Field

from assay_contracts.base import Model, Result, Work
from assay_contracts.grades import Grade
from assay_contracts.runs import (
    Ecosystem,
    ModelUse,
    NetworkCall,
    Package,
    RunKind,
    RunTimings,
    SandboxProof,
    TaskOutcome,
)
from assay_contracts.skills import Dependencies, Finding, Sha256, ValidationStage
from assay_contracts.tasks import Task, TaskId
from assay_contracts.validations import Scores, ValidationKind, Verdict


class RunReport(Model):
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
    timings: RunTimings | None
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
    tasks: tuple[Task, ...]
    runs: tuple[RunReport, ...]
    runtime_version: str = "v1.0"
    """What the online run started from."""
    regressions: tuple[RegressionReport, ...] = ()
    """One for each skill that was approved when the validation started."""
    prose: Prose | None
    """None when the writer failed: the report then says so."""
    models: tuple[ModelUse, ...]
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
