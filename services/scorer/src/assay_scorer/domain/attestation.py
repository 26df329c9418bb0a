"""What a report says of a skill's bundle, as a statement that can be signed."""

from assay_contracts.attestations import (
    AttestedBundle,
    AttestedEnvironment,
    AttestedModel,
    AttestedVerdict,
    BundleDigest,
    VerdictStatement,
)
from assay_contracts.reports import Report


def statement_of(report: Report) -> VerdictStatement:
    """The verdict with what it rests on: scores, models, prompts, rubric, environment."""
    online = next((run for run in report.runs if run.kind == "online"), None)
    models = (
        AttestedModel(role=use.role, model=use.model, prompt_version=use.prompt_version)
        for use in report.models
    )
    return VerdictStatement(
        subject=(
            AttestedBundle(
                name=report.skill_name, digest=BundleDigest(sha256=report.bundle_sha256)
            ),
        ),
        predicate=AttestedVerdict(
            verdict=report.verdict,
            reason=report.reason,
            scores=report.scores,
            validation_id=report.validation_id,
            kind=report.kind,
            revision=report.revision,
            rubric_version=report.rubric_version,
            models=tuple(dict.fromkeys(models)),
            environment=AttestedEnvironment(
                runtime_version=report.runtime_version,
                packages_added=online.packages_added if online else (),
            ),
            completed_at=report.completed_at,
        ),
    )
