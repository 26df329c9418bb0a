"""The report as data."""

from collections.abc import Iterable
from uuid import UUID

from assay_contracts.grades import RUBRIC_VERSION, RunGraded
from assay_contracts.reports import (
    ControlReport,
    DependencyReport,
    MendingReport,
    RegressionReport,
    RegressionTask,
    Report,
    RunReport,
)
from assay_contracts.runs import Package, RunFinished, RunKind
from assay_contracts.tasks import TaskId
from assay_contracts.validations import ReportRef, ValidationCompleted, ValidationTimings
from assay_scorer.domain.confidence import confidence
from assay_scorer.domain.environment import version_label
from assay_scorer.domain.ledger import cost_report
from assay_scorer.domain.provenance import removed, unmet
from assay_scorer.domain.requirements import key_of
from assay_scorer.domain.scoring import lost_offline
from assay_scorer.domain.triggering import trigger_report
from assay_scorer.domain.validation import STAGES, Validation
from assay_scorer.domain.what_changed import regression_rule

REASONS_SHOWN = 500


def build_report(validation: Validation) -> Report:
    """Everything known so far; called once the verdict stands."""
    assert validation.verdict is not None
    assert validation.reason is not None
    assert validation.completed_at is not None
    graded = validation.online_graded or validation.offline_graded
    return Report(
        validation_id=validation.validation_id,
        skill_id=validation.skill_id,
        skill_name=validation.skill_name,
        description=validation.manifest.description,
        revision=validation.revision,
        kind=validation.kind,
        bundle_sha256=validation.bundle.sha256,
        validation_stage=STAGES[validation.verdict],
        verdict=validation.verdict,
        reason=validation.reason,
        scores=validation.scores,
        layer1_passed=validation.layer1_passed,
        layer2_passed=validation.layer2_passed,
        findings=validation.findings,
        coverage=validation.online.coverage if validation.online else None,
        defects=validation.defects,
        dependencies=validation.manifest.dependencies,
        dependency_report=_dependencies(validation),
        tasks=validation.tasks,
        runs=tuple(_runs(validation)),
        trigger=trigger_report(validation),
        control=_control(validation),
        runtime_version=version_label(validation.environment.runtime_version),
        regressions=tuple(_regressions(validation)),
        regression_rule=regression_rule(validation),
        prose=validation.prose,
        models=validation.models,
        confidence=confidence(validation),
        costs=cost_report(validation.ledger, validation.money, validation.token_budget),
        rubric_version=graded.rubric_version if graded else RUBRIC_VERSION,
        queued_at=validation.queued_at,
        started_at=validation.started_at,
        completed_at=validation.completed_at,
    )


def report_ref(skill_id: UUID, validation_id: UUID, *, by_skill: bool = True) -> ReportRef:
    """Where the report of this validation lies, or will lie.

    The path of the skill alone stands for its newest validation, which is never a full test.
    """
    path = "report" if by_skill else f"validations/{validation_id}/report"
    return ReportRef(
        url=f"/api/admin/skills/{skill_id}/{path}",
        json_key=f"{validation_id}.json",
        markdown_key=f"{validation_id}.md",
        attestation_key=f"{validation_id}.intoto.json",
    )


def completion_of(validation: Validation) -> ValidationCompleted:
    """The public fact that this validation has ended."""
    assert validation.verdict is not None
    assert validation.reason is not None
    assert validation.completed_at is not None
    regressions = [each.run for each in validation.regressions]
    runs = [run for run in (validation.online, validation.offline, *regressions) if run]
    return ValidationCompleted(
        validation_id=validation.validation_id,
        skill_id=validation.skill_id,
        skill_name=validation.skill_name,
        revision=validation.revision,
        kind=validation.kind,
        bundle_sha256=validation.bundle.sha256,
        verdict=validation.verdict,
        reason=validation.reason,
        scores=validation.scores,
        models=tuple(dict.fromkeys(use.model for use in validation.models)),
        timings=ValidationTimings(
            queued_at=validation.queued_at,
            started_at=validation.started_at,
            completed_at=validation.completed_at,
            model_seconds=sum(use.seconds for use in validation.models),
            command_seconds=sum(run.timings.commands for run in runs if run.timings),
        ),
        report=report_ref(
            validation.skill_id, validation.validation_id, by_skill=not validation.is_full_test
        ),
    )


def _runs(validation: Validation) -> Iterable[RunReport]:
    pairs: tuple[tuple[RunKind, RunFinished | None, RunGraded | None], ...] = (
        ("online", validation.online, validation.online_graded),
        ("offline", validation.offline, validation.offline_graded),
    )
    for kind, run, graded in pairs:
        if run is not None:
            yield RunReport(
                kind=kind,
                outcomes=run.outcomes,
                grades=graded.grades if graded else (),
                network_calls=run.network_calls,
                network_calls_omitted=run.network_calls_omitted,
                sandbox=run.sandbox,
                packages_before=len(run.packages_before),
                packages_after=len(run.packages_after),
                packages_added=_added(run.packages_before, run.packages_after),
                installations=run.installations,
                sealed=run.sealed,
                timings=run.timings,
                lost_offline=_lost(validation) if kind == "offline" else (),
            )


def _lost(validation: Validation) -> tuple[TaskId, ...]:
    return lost_offline(validation.observed) if validation.observed else ()


def _control(validation: Validation) -> ControlReport | None:
    control = validation.control
    return control.compared_with(validation.online_graded) if control else None


def _dependencies(validation: Validation) -> DependencyReport | None:
    run = validation.online
    if run is None:
        return None
    return DependencyReport(
        mode=validation.dependency_mode,
        installed=validation.installed,
        removed=removed(run.packages_before, run.packages_after),
        unmet=unmet(validation.manifest.dependencies, run.packages_after),
        conflicts=validation.conflicts,
        mending=_mending(validation),
    )


def _mending(validation: Validation) -> MendingReport | None:
    tried = validation.mending
    if tried is None:
        return None
    succeeded = tried.outcome == "mended"
    tested = validation.regressions if succeeded else ()
    return MendingReport(
        installed=tried.installs,
        broken=tried.broken,
        retested=(
            *(each.skill.name for each in tested),
            *(each.skill for each in tried.retests if each.graded),
        ),
        succeeded=succeeded,
        detail=tried.detail,
    )


def _regressions(validation: Validation) -> Iterable[RegressionReport]:
    changes = validation.package_changes
    for each in validation.regressions:
        if each.stood is not None:
            yield RegressionReport(
                skill_id=each.skill.skill_id,
                skill_name=each.skill.name,
                passed=each.stood.passed,
                tasks=each.stood.tasks,
                stood=True,
                tested_in=each.stood.validation_id,
                tested_at=each.stood.at,
            )
        elif each.graded is not None:
            yield RegressionReport(
                skill_id=each.skill.skill_id,
                skill_name=each.skill.name,
                passed=not each.failed_tasks,
                tasks=tuple(
                    RegressionTask(
                        task_id=grade.task_id,
                        grade=grade.grade,
                        grade_before=each.skill.grades.get(grade.task_id),
                        completed=grade.task_id not in each.failed_tasks,
                        reasons=grade.explanation[:REASONS_SHOWN],
                    )
                    for grade in each.graded.grades
                ),
                run_because=each.run_because,
                explained_by=changes.explaining(each.skill.name) if each.failed_tasks else (),
            )


def _added(before: tuple[Package, ...], after: tuple[Package, ...]) -> tuple[Package, ...]:
    had = {(key_of(package), package.version) for package in before}
    return tuple(package for package in after if (key_of(package), package.version) not in had)
