"""Answers of the services that the gateway asks."""

from datetime import UTC, datetime
from uuid import UUID, uuid4

from assay_contracts.full_tests import FullTestCounts, FullTestStatus, FullTestView
from assay_contracts.rpc import SkillDetail, SkillStatusView
from assay_contracts.skills import Finding, SkillManifest, ValidationStage
from assay_contracts.validations import FullTestSkill

WARNING = Finding(
    code="no-requirements", severity="warning", message="No requirements.txt.", fix="Add one."
)


def sample_status(
    skill_id: UUID, stage: ValidationStage = "layer1", *, tasks_done: int = 0
) -> SkillStatusView:
    return SkillStatusView(
        skill_id=skill_id,
        name="csv-analyzer",
        status="validating",
        validation_id=uuid4(),
        validation_stage=stage,
        step="online_run",
        detail="task t1",
        progress=0.3,
        tasks_done=tasks_done,
        tasks_total=3,
        scores=None,
        verdict=None,
        reason=None,
        started_at=datetime.now(UTC),
        completed_at=None,
    )


def sample_detail(skill_id: UUID) -> SkillDetail:
    return SkillDetail(
        skill_id=skill_id,
        name="csv-analyzer",
        description="Analyses CSV files.",
        status="pending",
        validation_stage="completed",
        validation_score=87.5,
        layer1_passed=True,
        layer2_passed=True,
        created_at=datetime.now(UTC),
        validated_at=None,
        revision=1,
        bundle_sha256="0" * 64,
        uploaded_by="admin",
        manifest=SkillManifest(name="csv-analyzer", description="Analyses CSV files."),
        findings=(WARNING,),
        validation_id=uuid4(),
        verdict="passed",
        reason="overall 87.5",
        scores=None,
    )


def sample_full_test(status: FullTestStatus = "running", *, done: int = 0) -> FullTestView:
    """One of two skills, `done` of which have passed."""
    skills = tuple(
        FullTestSkill(
            skill_id=uuid4(),
            skill_name=name,
            validation_id=uuid4(),
            step="done" if number < done else "online_run",
            tasks=5,
            verdict="passed" if number < done else None,
        )
        for number, name in enumerate(("csv-analyzer", "json-sorter"))
    )
    return FullTestView(
        full_test_id=uuid4(),
        status=status,
        started_by="admin",
        runtime_version="v1.2",
        started_at=datetime.now(UTC),
        counts=FullTestCounts(total=2, done=done, passed=done),
        skills=skills,
    )
