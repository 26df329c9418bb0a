"""Statuses, reports and skills to show and to send."""

import os
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from subprocess import CompletedProcess
from uuid import UUID

import pytest

from assay_cli.__main__ import main
from assay_contracts.grades import Evidence, Grade
from assay_contracts.reports import Prose, Report, RunReport
from assay_contracts.rpc import SkillStatusView
from assay_contracts.runs import (
    ModelUse,
    NetworkCall,
    RunTimings,
    SandboxProof,
    SkillUse,
    TaskOutcome,
)
from assay_contracts.skills import Dependencies, Finding, ValidationStage
from assay_contracts.tasks import CheckResult, FileCheck, Task
from assay_contracts.validations import ProgressStep, Scores, Verdict
from assay_testkit.gateway.scripted import ScriptedGateway, scripted_gateway

BEGAN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SKILL_ID = UUID(int=1)
TOKEN = "secret-token"

StatusMaker = Callable[..., SkillStatusView]
ReportMaker = Callable[..., Report]


@pytest.fixture
def make_status() -> StatusMaker:
    def make(
        step: ProgressStep | None,
        stage: ValidationStage = "layer1",
        detail: str = "",
        verdict: Verdict | None = None,
    ) -> SkillStatusView:
        return SkillStatusView(
            skill_id=SKILL_ID,
            name="csv-analyzer",
            status="validating",
            validation_id=UUID(int=2),
            validation_stage=stage,
            step=step,
            detail=detail,
            progress=0,
            tasks_done=0,
            tasks_total=3,
            scores=None,
            verdict=verdict,
            reason=None,
            started_at=BEGAN,
            completed_at=None,
        )

    return make


def _outcome(task_id: str, *, used: bool) -> TaskOutcome:
    use = SkillUse(skill="csv-analyzer", kind="run", evidence="python summarize.py", step=0)
    check = CheckResult(check=FileCheck(path="out.json"), passed=True, detail="")
    return TaskOutcome(
        task_id=task_id,
        trace_key="k",
        skills_used=(use,) if used else (),
        checks=(check,),
        commands=1,
        seconds=0.5,
        answer="done",
    )


def _grade(task_id: str, grade: int) -> Grade:
    return Grade(
        task_id=task_id,
        grade=grade,
        reasons="The file is there.",
        evidence=(Evidence(quote="ok", source="check 1"),),
    )


@pytest.fixture
def make_report() -> ReportMaker:
    online = RunReport(
        kind="online",
        outcomes=(_outcome("t1", used=True), _outcome("t2", used=False)),
        grades=(_grade("t1", 5), _grade("t2", 2)),
        network_calls=(),
        sandbox=None,
        packages_added=(),
        timings=RunTimings(wall=3, model=1, commands=1.5),
    )
    offline = online.model_copy(
        update={
            "kind": "offline",
            "sandbox": SandboxProof(
                kind="bubblewrap", base="base", network="blocked", proof="p", observation="o"
            ),
            "network_calls": (
                NetworkCall(
                    at=BEGAN, task_id="t1", command="curl x", destination="api.example.org:443"
                ),
            ),
        }
    )
    made = Report(
        validation_id=UUID(int=2),
        skill_id=SKILL_ID,
        skill_name="csv-analyzer",
        revision=1,
        kind="initial",
        bundle_sha256="0" * 64,
        validation_stage="completed",
        verdict="passed",
        reason="The overall score reaches 70.",
        scores=Scores(completion=62.5, trigger=50.0, offline=70.0, overall=59.3),
        layer1_passed=True,
        layer2_passed=None,
        findings=(
            Finding(code="w", severity="warning", message="No requirements.txt.", fix="Add it."),
        ),
        dependencies=Dependencies(),
        tasks=tuple(
            Task(task_id=f"t{n}", prompt=f"Do thing {n}.", success_criterion="It is done.")
            for n in (1, 2)
        ),
        runs=(online, offline),
        prose=Prose(summary="A good skill."),
        models=(
            ModelUse(
                role="planner", model="rehearsal:1", prompt_version="p", calls=1, seconds=0.25
            ),
        ),
        rubric_version="rubric-1",
        queued_at=BEGAN,
        started_at=BEGAN,
        completed_at=BEGAN + timedelta(seconds=12.5),
    )

    def make(**changes: object) -> Report:
        return made.model_copy(update=changes)

    return make


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    folder = tmp_path / "csv-analyzer"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: csv-analyzer\n---\n")
    script = folder / "scripts" / "summarize.py"
    script.write_text("print(1)\n")
    script.chmod(0o755)
    return folder


@pytest.fixture
def gateway() -> Iterator[ScriptedGateway]:
    with scripted_gateway() as gateway:
        yield gateway


@pytest.fixture
def ask(
    assay: Callable[..., CompletedProcess[str]], gateway: ScriptedGateway
) -> Callable[..., CompletedProcess[str]]:
    """The command, told by its environment where to ask."""

    def run(*words: str | Path) -> CompletedProcess[str]:
        return assay(*words, ASSAY_URL=gateway.url, ASSAY_ADMIN_TOKEN=TOKEN)

    return run


@pytest.fixture
def assay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., CompletedProcess[str]]:
    """Run the command as a shell would, with nothing of ours in its environment."""
    for name in os.environ:
        if name.startswith(("ASSAY_", "GITHUB_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    def run(*arguments: str | Path, **environment: str) -> CompletedProcess[str]:
        words = ["assay", *map(str, arguments)]
        monkeypatch.setattr(sys, "argv", words)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return CompletedProcess(words, ended.value.code, printed.out, printed.err)

    return run
