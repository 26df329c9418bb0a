"""Answers of the services that the gateway asks."""

from datetime import UTC, datetime
from uuid import UUID, uuid4

from assay_contracts.full_tests import FullTestCounts, FullTestStatus, FullTestView
from assay_contracts.grades import Evidence, Grade
from assay_contracts.reports import Report, RunReport
from assay_contracts.rpc import SkillDetail, SkillStatusView
from assay_contracts.runs import TaskOutcome
from assay_contracts.skills import Dependencies, Finding, SkillManifest, ValidationStage
from assay_contracts.tasks import Task
from assay_contracts.validations import FullTestSkill, Scores, Verdict

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


def sample_report(skill_name: str = "csv-analyzer", *, verdict: Verdict = "passed") -> Report:
    """With one task, done online; its words are `skill_name`, wherever a skill may put words."""
    now = datetime.now(UTC)
    return Report(
        validation_id=uuid4(),
        skill_id=uuid4(),
        skill_name=skill_name,
        revision=1,
        kind="initial",
        bundle_sha256="0" * 64,
        validation_stage="completed" if verdict == "passed" else "failed",
        verdict=verdict,
        reason=skill_name,
        scores=Scores(completion=75.0, trigger=100.0, offline=None, overall=72.5),
        layer1_passed=verdict == "passed",
        layer2_passed=None,
        findings=(WARNING,),
        dependencies=Dependencies(),
        tasks=(Task(task_id="t1", prompt=skill_name, success_criterion="Done."),),
        runs=(
            RunReport(
                kind="online",
                outcomes=(
                    TaskOutcome(
                        task_id="t1",
                        trace_key="trace-1",
                        skills_used=(),
                        checks=(),
                        actions=(skill_name,),
                        commands=3,
                        seconds=1.5,
                        answer=skill_name,
                    ),
                ),
                grades=(
                    Grade(
                        task_id="t1",
                        grade=2,
                        reasons=skill_name,
                        evidence=(Evidence(source="answer", quote=skill_name),),
                    ),
                ),
                network_calls=(),
                sandbox=None,
                packages_added=(),
                timings=None,
            ),
        ),
        prose=None,
        models=(),
        rubric_version="1",
        queued_at=now,
        started_at=now,
        completed_at=now,
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
