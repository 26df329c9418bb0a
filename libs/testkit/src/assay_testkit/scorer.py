"""Made-up validations, and results of workers, for tests of anything that is about them."""

from datetime import UTC, datetime, timedelta
from typing import TypeVar
from uuid import UUID, uuid4

from assay_contracts.base import Failure, ModelUse, Result, Role, Work
from assay_contracts.grades import Evidence, Grade, GradingRequested, RunGraded
from assay_contracts.reports import Prose, ReportRequested, ReportWritten
from assay_contracts.review import ApproveSkill
from assay_contracts.rpc import RegisterReply, RegisterSkill
from assay_contracts.runs import (
    NetworkCall,
    RunFinished,
    RunRequested,
    RunTimings,
    SandboxProof,
    SkillUse,
    TaskOutcome,
)
from assay_contracts.skills import BundleRef, Dependencies, SkillManifest
from assay_contracts.tasks import Task
from assay_contracts.validations import (
    ProgressStep,
    ValidationCompleted,
    ValidationPlanned,
    ValidationRequested,
)
from assay_scorer.domain.conductor import decide
from assay_scorer.domain.decisions import Decision
from assay_scorer.domain.environment import ApprovedSkill, Environment
from assay_scorer.domain.inputs import Admitted, ConductorInput
from assay_scorer.domain.revisions import Revision, new_validation
from assay_scorer.domain.validation import Validation

RunOrGrades = TypeVar("RunOrGrades", RunFinished, RunGraded)
NOW = datetime(2026, 2, 20, 12, 0, tzinfo=UTC)
BUNDLE = BundleRef(key="bundle", sha256="a" * 64, size=10)


def an_upload(
    name: str = "csv-analyzer", *, sha256: str = BUNDLE.sha256, start_validation: bool = True
) -> RegisterSkill:
    return RegisterSkill(
        upload_id=uuid4(),
        uploaded_by="admin",
        bundle=BUNDLE.model_copy(update={"sha256": sha256}),
        manifest=SkillManifest(name=name, description=f"What {name} does."),
        start_validation=start_validation,
    )


def started(reply: RegisterReply) -> UUID:
    """The validation that an upload started."""
    assert reply.validation_id is not None
    return reply.validation_id


def a_validation(name: str = "csv-analyzer") -> Validation:
    return new_validation(a_revision(name), "initial", NOW)


def a_revision(name: str = "csv-analyzer") -> Revision:
    """The first of a skill."""
    return Revision(
        skill_id=uuid4(),
        skill_name=name,
        number=1,
        bundle=BUNDLE,
        manifest=SkillManifest(name=name, description="Summarises tables."),
        findings=(),
    )


def an_environment(
    *names: str, grade: int = 5, dependencies: Dependencies | None = None
) -> Environment:
    """Skills of these names, approved, with that grade for each of their tasks."""
    approved = (
        ApprovedSkill(
            skill_id=uuid4(),
            name=name,
            bundle=BUNDLE,
            tasks=some_tasks(),
            grades={task.task_id: grade for task in some_tasks()},
            dependencies=dependencies or Dependencies(),
            time_limit_s=300,
        )
        for name in names
    )
    number = len(names)
    return Environment(
        runtime_version=number,
        snapshot=f"snapshot-{number}" if number else None,
        approved=tuple(approved),
    )


def a_full_test(environment: Environment) -> Validation:
    """The part of the first approved skill in a full test that is yet to begin."""
    skill = environment.approved[0]
    return a_validation(skill.name).model_copy(
        update={
            "skill_id": skill.skill_id,
            "kind": "full_test",
            "full_test_id": uuid4(),
            "environment": environment,
        }
    )


def a_model(role: Role) -> ModelUse:
    return ModelUse(role=role, model="rehearsal:1", prompt_version="1", calls=1, seconds=0.1)


def some_tasks(count: int = 3) -> tuple[Task, ...]:
    return tuple(
        Task(task_id=f"t{n}", prompt=f"Do thing {n}.", success_criterion="It is done.")
        for n in range(1, count + 1)
    )


def well_done(work: Work, *, grade: int = 5, used: bool = True, calls: int = 0) -> Result:
    """The result of work that went well, as a worker would say it."""
    about = {
        "validation_id": work.validation_id,
        "step_id": work.step_id,
        "attempt": work.attempt,
    }
    match work:
        case ValidationRequested():
            return ValidationPlanned.model_validate(
                {
                    **about,
                    "tasks": some_tasks(len(work.known_tasks) + work.task_count)[
                        len(work.known_tasks) :
                    ],
                    "model": a_model("planner"),
                }
            )
        case RunRequested():
            return RunFinished.model_validate(
                {
                    **about,
                    "outcomes": tuple(_outcome(task, work.skill_name, used) for task in work.tasks),
                    "network_calls": tuple(_call(n) for n in range(calls))
                    if work.kind == "offline"
                    else (),
                    "sandbox": SandboxProof(
                        kind="fake",
                        base=work.base or "base",
                        network="open" if work.kind == "online" else "blocked",
                        proof="probed",
                        observation="counted",
                    ),
                    "candidate": work.capture,
                    "model": a_model("executor"),
                    "timings": RunTimings(wall=1.0, model=0.2, commands=0.5),
                }
            )
        case GradingRequested():
            return RunGraded.model_validate(
                {
                    **about,
                    "grades": tuple(_grade(task, grade) for task in work.tasks),
                    "model": a_model("grader"),
                }
            )
        case ReportRequested():
            return ReportWritten.model_validate(
                {**about, "prose": Prose(summary="It works."), "model": a_model("reporter")}
            )
        case _:
            return work.RESULT.model_validate(about)


def planned_by_llm(plan: ValidationPlanned) -> ValidationPlanned:
    """The same plan, by a model of a provider."""
    assert plan.model is not None
    return plan.model_copy(
        update={"model": plan.model.model_copy(update={"model": "openai:test-model"})}
    )


def worked_by_llm(result: RunOrGrades) -> RunOrGrades:
    """The same result, with a model of a provider."""
    assert result.model is not None
    model = result.model.model_copy(update={"model": "openai:test-model"})
    return result.model_copy(update={"model": model})


def gone_wrong(work: Work, category: str = "sandbox") -> Result:
    """The result of work that the platform could not carry out."""
    return work.failed(Failure.model_validate({"category": category, "reason": "it broke"}))


def as_input(result: Result) -> ConductorInput:
    assert isinstance(result, ConductorInput)
    return result


def work_in(decision: Decision) -> Work:
    """The only work that is asked for."""
    (work,) = [each.message for each in decision.outgoing if isinstance(each.message, Work)]
    return work


def completions_in(decision: Decision) -> list[ValidationCompleted]:
    said = (each.message for each in decision.outgoing)
    return [message for message in said if isinstance(message, ValidationCompleted)]


def validation_at(step: ProgressStep) -> Decision:
    """The decision that asked for `step`, after all before it went well."""
    decision = decide(a_validation(), Admitted(), NOW)
    while decision.validation.step != step:
        decision = decide(decision.validation, as_input(well_done(work_in(decision))), NOW)
    return decision


def approval_of(skill: RegisterReply) -> ApproveSkill:
    """What ann asks for to approve it."""
    return ApproveSkill(skill_id=skill.skill_id, actor="ann")


def _outcome(task: Task, skill: str, used: bool) -> TaskOutcome:
    use = SkillUse(skill=skill, kind="read", evidence="read_file SKILL.md", step=0)
    return TaskOutcome(
        task_id=task.task_id,
        trace_key=f"traces/{task.task_id}",
        skills_used=(use,) if used else (),
        checks=(),
        commands=2,
        seconds=1.0,
        answer="Done.",
    )


def _grade(task: Task, grade: int) -> Grade:
    evidence = Evidence(quote="Done.", source="answer")
    return Grade(task_id=task.task_id, grade=grade, reasons="Because.", evidence=(evidence,))


def _call(number: int) -> NetworkCall:
    return NetworkCall(
        at=NOW + timedelta(seconds=number),
        task_id="t1",
        command="python fetch.py",
        destination=f"host{number}.example",
    )
