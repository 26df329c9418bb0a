"""Reports to show: the same ones every time, small enough to change in a test."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from assay_contracts.base import ModelUse, Role
from assay_contracts.grades import Evidence, Grade
from assay_contracts.reports import DependencyReport, Prose, Report, RunReport
from assay_contracts.runs import (
    NetworkCall,
    NetworkMode,
    RunKind,
    RunTimings,
    SandboxProof,
    SkillUse,
    TaskOutcome,
)
from assay_contracts.scores import Scores
from assay_contracts.skills import Dependencies, Finding
from assay_contracts.tasks import CheckResult, FileCheck, Task
from assay_contracts.validations import Verdict

BEGAN: Final = datetime(2026, 2, 20, 12, 0, tzinfo=UTC)
SKILL_ID: Final = UUID(int=1)
VALIDATION_ID: Final = UUID(int=2)
NO_REQUIREMENTS: Final = Finding(
    code="no-requirements", severity="warning", message="No requirements.txt.", fix="Add one."
)


def a_task(number: int, **changes: object) -> Task:
    task = Task(task_id=f"t{number}", prompt=f"Do thing {number}.", success_criterion="It is done.")
    return task.model_copy(update=changes)


def a_grade(task_id: str, grade: int, **changes: object) -> Grade:
    evidence = Evidence(quote="Done.", source="answer")
    made = Grade(task_id=task_id, grade=grade, reasons="Because.", evidence=(evidence,))
    return made.model_copy(update=changes)


def an_outcome(
    task_id: str, *, used: str | None = "csv-analyzer", **changes: object
) -> TaskOutcome:
    """What came of a task in which the skill of that name was used, if any was."""
    evidence = "read_file SKILL.md"
    uses = (SkillUse(skill=used, kind="read", evidence=evidence, step=0),) if used else ()
    made = TaskOutcome(
        task_id=task_id,
        trace_key=f"traces/{task_id}",
        skills_used=uses,
        checks=(),
        commands=2,
        seconds=1.0,
        answer="Done.",
    )
    return made.model_copy(update=changes)


def a_call(number: int, **changes: object) -> NetworkCall:
    made = NetworkCall(
        at=BEGAN + timedelta(seconds=number),
        task_id="t1",
        command="python fetch.py",
        destination=f"host{number}.example",
    )
    return made.model_copy(update=changes)


def a_sandbox(network: NetworkMode) -> SandboxProof:
    return SandboxProof(
        kind="bubblewrap", base="base", network=network, proof="probed", observation="counted"
    )


def a_run(kind: RunKind, grades: Sequence[int] = (5, 5, 5), /, **changes: object) -> RunReport:
    """A run with one task for each grade."""
    tasks = [f"t{number}" for number in range(1, len(grades) + 1)]
    made = RunReport(
        kind=kind,
        outcomes=tuple(an_outcome(task) for task in tasks),
        grades=tuple(a_grade(task, grade) for task, grade in zip(tasks, grades, strict=True)),
        network_calls=(),
        sandbox=a_sandbox("open" if kind == "online" else "blocked"),
        packages_added=(),
        timings=RunTimings(wall=1.0, model=0.2, commands=0.5),
    )
    return made.model_copy(update=changes)


def a_model(role: Role, model: str = "rehearsal:1", **changes: object) -> ModelUse:
    made = ModelUse(role=role, model=model, prompt_version="1", calls=1, seconds=0.1)
    return made.model_copy(update=changes)


def a_report(*, calls: int = 0, **changes: object) -> Report:
    """A skill that passed with every task well done, and this many network calls offline."""
    made = Report(
        validation_id=VALIDATION_ID,
        skill_id=SKILL_ID,
        skill_name="csv-analyzer",
        revision=1,
        kind="initial",
        bundle_sha256="a" * 64,
        validation_stage="completed",
        verdict="passed",
        reason="The overall score 100 reaches 70.",
        scores=Scores(completion=100.0, trigger=100.0, offline=100.0, overall=100.0),
        layer1_passed=True,
        layer2_passed=True,
        findings=(),
        dependencies=Dependencies(),
        dependency_report=DependencyReport(mode="lenient"),
        tasks=(a_task(1), a_task(2), a_task(3)),
        runs=(
            a_run("online"),
            a_run("offline", network_calls=tuple(a_call(number) for number in range(calls))),
        ),
        prose=Prose(summary="It works."),
        models=tuple(
            a_model(role)
            for role in ("planner", "executor", "grader", "executor", "grader", "reporter")
        ),
        rubric_version="rubric-1",
        queued_at=BEGAN,
        started_at=BEGAN,
        completed_at=BEGAN,
    )
    return made.model_copy(update=changes)


def mixed_report(**changes: object) -> Report:
    """Two tasks, the second badly done without the skill, and one network call offline."""
    check = CheckResult(check=FileCheck(path="out.json"), passed=True, detail="")
    online = a_run(
        "online",
        outcomes=(
            an_outcome("t1", checks=(check,), commands=1, seconds=0.5),
            an_outcome("t2", used=None, checks=(check,), commands=1, seconds=0.5),
        ),
        grades=(
            a_grade("t1", 5, reasons="The file is there."),
            a_grade("t2", 2, reasons="The file is there."),
        ),
        sandbox=None,
        timings=RunTimings(wall=3, model=1, commands=1.5),
    )
    call = a_call(0, command="curl x", destination="api.example.org:443")
    offline = online.model_copy(
        update={"kind": "offline", "sandbox": a_sandbox("blocked"), "network_calls": (call,)}
    )
    made = a_report(
        reason="The overall score reaches 70.",
        scores=Scores(completion=62.5, trigger=50.0, offline=70.0, overall=59.3),
        layer2_passed=None,
        findings=(NO_REQUIREMENTS,),
        tasks=(a_task(1), a_task(2)),
        runs=(online, offline),
        prose=Prose(summary="A good skill."),
        models=(a_model("planner", seconds=0.25),),
        completed_at=BEGAN + timedelta(seconds=12.5),
    )
    return made.model_copy(update=changes)


def sample_report(skill_name: str = "csv-analyzer", *, verdict: Verdict = "passed") -> Report:
    """With one task, done online; its words are `skill_name`, wherever a skill may put words."""
    outcome = an_outcome(
        "t1",
        used=None,
        trace_key="trace-1",
        actions=(skill_name,),
        commands=3,
        seconds=1.5,
        answer=skill_name,
    )
    grade = a_grade(
        "t1", 2, reasons=skill_name, evidence=(Evidence(source="answer", quote=skill_name),)
    )
    return a_report(
        skill_name=skill_name,
        validation_stage="completed" if verdict == "passed" else "failed",
        verdict=verdict,
        reason=skill_name,
        scores=Scores(completion=75.0, trigger=100.0, offline=None, overall=72.5),
        layer1_passed=verdict == "passed",
        layer2_passed=None,
        findings=(NO_REQUIREMENTS,),
        dependency_report=None,
        tasks=(a_task(1, prompt=skill_name),),
        runs=(a_run("online", outcomes=(outcome,), grades=(grade,), sandbox=None, timings=None),),
        prose=None,
        models=(),
    )
