"""The report as data."""

from collections.abc import Iterable

from assay_contracts.grades import RUBRIC_VERSION, RunGraded
from assay_contracts.reports import Report, RunReport
from assay_contracts.runs import Package, RunFinished, RunKind
from assay_contracts.validations import ReportRef, ValidationCompleted, ValidationTimings
from assay_scorer.domain.validation import Validation


def build_report(validation: Validation) -> Report:
    """Everything known so far; called once the verdict stands."""
    assert validation.verdict is not None
    assert validation.reason is not None
    assert validation.completed_at is not None
    graded = validation.online_graded or validation.offline_graded
    passed = validation.verdict == "passed"
    conclusive = validation.verdict != "inconclusive"
    stage = "completed" if passed else "failed" if conclusive else "inconclusive"
    return Report(
        validation_id=validation.validation_id,
        skill_id=validation.skill_id,
        skill_name=validation.skill_name,
        revision=validation.revision,
        kind=validation.kind,
        bundle_sha256=validation.bundle.sha256,
        validation_stage=stage,
        verdict=validation.verdict,
        reason=validation.reason,
        scores=validation.scores,
        layer1_passed=passed if conclusive else None,
        # No skill is approved yet, so there is nothing that a passed skill could have broken.
        layer2_passed=True if passed else None,
        findings=validation.findings,
        dependencies=validation.manifest.dependencies,
        tasks=validation.tasks,
        runs=tuple(_runs(validation)),
        prose=validation.prose,
        models=validation.models,
        rubric_version=graded.rubric_version if graded else RUBRIC_VERSION,
        queued_at=validation.queued_at,
        started_at=validation.started_at,
        completed_at=validation.completed_at,
    )


def report_ref(validation: Validation) -> ReportRef:
    """Where the report of this validation lies, or will lie."""
    return ReportRef(
        url=f"/api/admin/skills/{validation.skill_id}/report",
        json_key=f"{validation.validation_id}.json",
        markdown_key=f"{validation.validation_id}.md",
    )


def completion_of(validation: Validation) -> ValidationCompleted:
    """The public fact that this validation has ended."""
    assert validation.verdict is not None
    assert validation.reason is not None
    assert validation.completed_at is not None
    runs = [run for run in (validation.online, validation.offline) if run and run.timings]
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
        report=report_ref(validation),
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
                timings=run.timings,
            )


def _added(before: tuple[Package, ...], after: tuple[Package, ...]) -> tuple[Package, ...]:
    had = set(before)
    return tuple(package for package in after if package not in had)
