"""Every form of a report, byte for byte as it was recorded.

After a wanted change: `RECORD=1 .venv/bin/pytest libs/reporting/tests/test_recorded.py`, and read
what changed.
"""

import io
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path, PurePosixPath
from typing import Final

import pytest
from rich.console import Console

from assay_contracts.confidence import Confidence, PassPower, TaskTries
from assay_contracts.costs import CostLine, CostReport, UnknownCost
from assay_contracts.grades import Evidence
from assay_contracts.reports import (
    ConstraintAsked,
    DependencyChange,
    DependencyConflict,
    DependencyReport,
    InstalledPackage,
    MendingReport,
    Prose,
    RegressionReport,
    RegressionRule,
    RegressionTask,
    Report,
    TakenTrigger,
    TriggerReport,
    UnmetDependency,
)
from assay_contracts.runs import Package, RunTimings, SkillUse
from assay_contracts.scores import Scores
from assay_contracts.skills import Dependencies, Finding, Severity
from assay_contracts.tasks import CheckResult, CommandCheck, FileCheck
from assay_reporting.html import render_html
from assay_reporting.junit import render_junit
from assay_reporting.markdown import render_markdown
from assay_reporting.sarif import CheckedSource, render_sarif
from assay_reporting.score_card import render_score_card
from assay_reporting.summary import render_summary
from assay_testkit.reports import (
    BEGAN,
    SKILL_ID,
    a_call,
    a_grade,
    a_model,
    a_report,
    a_run,
    a_task,
    an_outcome,
    mixed_report,
    sample_report,
)

RECORDED: Final = Path(__file__).parent / "recorded"
HOSTILE: Final = (
    "<script>alert(1)</script> [a](javascript:x) ![b](http://e.example) `x` | **PASSED** | 100 |\n"
    "# PASSED: everything &nbsp; ]]> \x1b[31m \u202e5\u200b 表 [bold]x[/bold]"
)
FINDINGS: Final = (
    Finding(code="name", severity="error", message="No name.", fix="Add one.", path="SKILL.md"),
    Finding(
        code="reference",
        severity="warning",
        message="`gone.md` is not there.",
        fix="Add it.",
        path="docs/a b.md",
        line=7,
    ),
    Finding(code="body", severity="note", message="Much text.", fix="Write less."),
)


@dataclass(frozen=True)
class Rule:
    code: str
    area: str
    severity: Severity
    fix: str


RULES: Final = (
    Rule("name", "skill", "error", "Add one."),
    Rule("reference", "skill", "warning", "Add it."),
    Rule("body", "archive", "note", "Write less."),
)


def _not_done() -> Report:
    """A skill whose tasks were not done online, so that there was no offline run."""
    return a_report(
        validation_stage="failed",
        verdict="failed",
        reason="Completion is 41.7, below 50: the tasks were not done online.",
        scores=Scores(completion=41.7, trigger=66.7, offline=None, overall=44.2),
        layer1_passed=False,
        layer2_passed=None,
        runs=(a_run("online", (3, 4, 1)),),
        prose=None,
    )


def _inconclusive() -> Report:
    """The platform failed: nothing is known."""
    broken = a_run("online", (), sandbox=None, timings=None, failure="sandbox: no namespace")
    return a_report(
        validation_stage="inconclusive",
        verdict="inconclusive",
        reason="sandbox: it broke",
        scores=None,
        layer1_passed=None,
        layer2_passed=None,
        dependency_report=None,
        runs=(broken,),
        prose=None,
        models=(),
        started_at=None,
        completed_at=BEGAN + timedelta(seconds=61.25),
    )


def _dependencies() -> DependencyReport:
    return DependencyReport(
        mode="strict",
        installed=(
            InstalledPackage(
                ecosystem="pip",
                package="Ruler_Words",
                version="2.0",
                version_before="1.0",
                origin="declared",
            ),
            InstalledPackage(
                ecosystem="pip",
                package="idna",
                version="3.1",
                version_before=None,
                origin="pulled_in",
                needed_by=("requests",),
            ),
            InstalledPackage(
                ecosystem="npm",
                package="six",
                version="1.0",
                version_before=None,
                origin="undeclared",
            ),
        ),
        removed=(Package(ecosystem="pip", name="gone", version="3"),),
        unmet=(UnmetDependency(ecosystem="pip", requirement="absent>=1", installed_version=None),),
        conflicts=(
            DependencyConflict(
                ecosystem="pip",
                package="ruler-words",
                version_before="1.0",
                version_after="2.0",
                asked=(
                    ConstraintAsked(by="csv-analyzer", constraint=">=2"),
                    ConstraintAsked(by="beta", constraint="<2"),
                ),
                skills=("csv-analyzer", "beta"),
                resolved_version=None,
                suggested_constraint="ruler-words<2",
            ),
        ),
        mending=MendingReport(
            installed=(Package(ecosystem="pip", name="ruler-words", version="1.0"),),
            broken=("'beta' (t1)",),
            retested=("beta", "csv-analyzer"),
            succeeded=False,
            detail="t1 still fails",
        ),
    )


def _regressions() -> tuple[RegressionReport, ...]:
    return (
        RegressionReport(
            skill_id=SKILL_ID,
            skill_name="alpha",
            passed=True,
            tasks=(
                RegressionTask(
                    task_id="t1", grade=5, grade_before=None, completed=True, reasons="Well."
                ),
            ),
        ),
        RegressionReport(
            skill_id=SKILL_ID,
            skill_name="beta",
            passed=False,
            tasks=(
                RegressionTask(
                    task_id="t1", grade=2, grade_before=5, completed=False, reasons="It fell."
                ),
                RegressionTask(
                    task_id="t2", grade=4, grade_before=4, completed=True, reasons="Fine."
                ),
            ),
            explained_by=(
                DependencyChange(
                    ecosystem="pip",
                    package="ruler-words",
                    old_version="1.0",
                    new_version=None,
                    used_by=("beta", "csv-analyzer"),
                    suggested_constraint="ruler-words==1.0",
                ),
            ),
        ),
    )


def _everything() -> Report:
    """A failed validation that has something to tell in every place there is."""
    passed = CheckResult(
        check=CommandCheck(command="true"), passed=True, detail="exit code 0", passed_before=True
    )
    failed = CheckResult(check=FileCheck(path="out.json"), passed=False, detail="not there")
    outcome = an_outcome(
        "t1",
        skills_used=(
            SkillUse(skill="csv-analyzer", kind="read", evidence="read_file SKILL.md", step=0),
            SkillUse(skill="csv-analyzer", kind="run", evidence="python run.py", step=1),
            SkillUse(skill="alpha", kind="run", evidence="python a.py", step=2),
        ),
        actions=('execute {"command": "python3 run.py"}: exit code 3', "read_file out.json"),
        files_made=("out.json", "chart.svg"),
        bounds_hit=("tokens", "time"),
        checks=(passed, failed),
        commands=1,
    )
    grade = a_grade(
        "t1",
        3,
        reasons="It fell.",
        evidence=(Evidence(quote="no such file", source="step 2 output"),),
        samples=(2, 4, 3),
    )
    online = a_run(
        "online",
        outcomes=(outcome, an_outcome("t2", used=None), an_outcome("t3")),
        grades=(grade, a_grade("t2", 2)),
        packages_before=7,
        packages_after=9,
        packages_added=(Package(ecosystem="pip", name="ruler-words", version="2.0"),),
        timings=RunTimings(wall=12.34, model=4.5, commands=6.78),
        network_calls=(
            a_call(60, cause="agent", program="curl -s https://host60.example"),
            a_call(61, cause="skill", attempts=2),
        ),
    )
    offline = a_run(
        "offline",
        (2, 3, 5),
        network_calls=(
            a_call(0, task_id=None),
            a_call(1, cause="package_manager", program="pip install ruler", attempts=6),
            a_call(2, cause="agent"),
            a_call(3, cause="skill", attempts=3),
            *(a_call(number) for number in range(4, 55)),
        ),
        network_calls_omitted=20,
    )
    llm = ("openai:gpt-x", "anthropic:claude-y")
    return a_report(
        revision=3,
        validation_stage="failed",
        verdict="failed",
        reason="The overall score 61.2 is below 70.",
        scores=Scores(completion=58.3, trigger=66.7, offline=0.0, overall=52.5),
        layer1_passed=False,
        layer2_passed=False,
        findings=FINDINGS,
        dependencies=Dependencies(
            pip=("ruler-words==1.0", "absent>=1"), npm=("six",), other=("git",)
        ),
        dependency_report=_dependencies(),
        runs=(online, offline),
        runtime_version="v1.2",
        regressions=_regressions(),
        regression_rule=RegressionRule(
            mode="changed",
            environment_digest="e" * 64,
            environment_changed=True,
            ran=len(_regressions()) - 1,
            stood=1,
        ),
        trigger=_trigger(),
        confidence=_confidence(),
        costs=_costs(llm),
        prose=Prose(
            summary="Failed: it calls home.",
            strengths=("Fast.",),
            weaknesses=("Calls home.", "Falls."),
            recommendations=("Stop that.",),
        ),
        models=(
            a_model("planner", llm[0], calls=2, input_tokens=1200, output_tokens=34),
            a_model("executor", llm[1], calls=12, input_tokens=99, output_tokens=1, seconds=4.25),
            a_model("grader", llm[0], seconds=1.5),
        ),
        completed_at=BEGAN + timedelta(seconds=75.06),
    )


def _trigger() -> TriggerReport:
    return TriggerReport(
        crowd=("alpha", "beta"),
        taken=(
            TakenTrigger(
                skill_name="alpha", task_ids=("t1", "t2"), evidence="observed", failed=("t2",)
            ),
            TakenTrigger(skill_name="beta", task_ids=("t3",), evidence="words"),
        ),
    )


def _confidence() -> Confidence:
    return Confidence(
        tasks=3,
        tries=5,
        samples=7,
        spread=6.3,
        could_change=True,
        repeated_because="near_pass_mark",
        repeats=2,
        repeated_tasks=("t1",),
        by_task=(
            TaskTries(
                task_id="t1",
                grades=(3, 5, 4),
                counted=4,
                used=(True, True, False),
                samples=(2, 4, 3, 5, 4),
            ),
            TaskTries(task_id="t2", grades=(2,), counted=2, used=(False,), samples=(2,)),
        ),
        pass_power=(PassPower(k=1, share=0.5), PassPower(k=2, share=0.25)),
    )


def _costs(models: tuple[str, str]) -> CostReport:
    planner = a_model("planner", models[0], calls=2, input_tokens=1200, output_tokens=34)
    executor = a_model("executor", models[1], calls=12, unanswered=1, estimated_tokens=900)
    return CostReport(
        lines=(
            CostLine(phase="planning", use=planner, money=0.0123),
            CostLine(phase="near_misses", use=executor, discarded=True),
        ),
        unknown=(UnknownCost(phase="online", attempts=2),),
        unpriced=(models[1],),
        money_budget=5.0,
    )


def _hostile() -> Report:
    """A skill that writes markup, escape sequences and table rows wherever it may write."""
    outcome = an_outcome("t1", used=HOSTILE, actions=(HOSTILE,), files_made=(HOSTILE,))
    outcome = outcome.model_copy(update={"answer": HOSTILE})
    evidence = (Evidence(quote=HOSTILE, source=HOSTILE),)
    run = a_run(
        "offline",
        outcomes=(outcome,),
        grades=(a_grade("t1", 1, reasons=HOSTILE, evidence=evidence),),
        network_calls=(a_call(0, command=HOSTILE, destination=HOSTILE),),
    )
    finding = Finding(
        code="x", severity="warning", message=HOSTILE, fix=HOSTILE, path=HOSTILE, line=1
    )
    return a_report(
        skill_name=HOSTILE,
        validation_stage="failed",
        verdict="failed",
        reason=HOSTILE,
        findings=(finding,),
        tasks=(a_task(1, prompt=HOSTILE * 10),),
        runs=(run,),
        prose=Prose(summary=HOSTILE, strengths=(HOSTILE,)),
    )


def _on_a_terminal(report: Report) -> str:
    output = io.StringIO()
    screen = Console(
        file=output, width=100, force_terminal=True, color_system="standard", no_color=False
    )
    screen.print(render_score_card(report))
    return output.getvalue()


REPORTS: Final[dict[str, Callable[[], Report]]] = {
    "well-done": lambda: a_report(calls=1),
    "mixed": mixed_report,
    "not-done": _not_done,
    "inconclusive": _inconclusive,
    "everything": _everything,
    "hostile": _hostile,
    "sample": sample_report,
}
FORMS: Final[dict[str, Callable[[Report], str]]] = {
    "report.md": render_markdown,
    "report-html.txt": lambda report: render_html(report, render_markdown(report)),
    "junit.xml": lambda report: render_junit(report).decode(),
    "card.txt": _on_a_terminal,
    "summary.md": render_summary,
}


def _compare(file: Path, made: str) -> None:
    if os.environ.get("RECORD"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(made.encode())
    assert made == file.read_bytes().decode()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("report", REPORTS)
def test_a_report_looks_as_recorded(report: str, form: str) -> None:
    _compare(RECORDED / report / form, FORMS[form](REPORTS[report]()))


@pytest.mark.parametrize("source", ["my skill", "/skills/demo"])
@pytest.mark.parametrize("kind", ["folder", "archive"])
def test_findings_look_as_recorded(source: str, kind: str) -> None:
    checked = CheckedSource(
        path=PurePosixPath(source),
        is_folder=kind == "folder",
        main_file="SKILL.md",
        findings=tuple(FINDINGS),
    )
    log = render_sarif(
        [checked],
        rules=RULES,
        tool_version="0.1.0",
    )
    name = f"{kind}-{PurePosixPath(source).name.replace(' ', '-')}.json"
    _compare(RECORDED / "sarif" / name, json.dumps(log, indent=2, ensure_ascii=False) + "\n")
