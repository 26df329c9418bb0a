"""Statuses, reports and skills to show and to send."""

import os
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from subprocess import CompletedProcess
from uuid import UUID

import pytest

from assay_cli.__main__ import main
from assay_contracts.reports import Report
from assay_contracts.rpc import SkillStatusView
from assay_contracts.skills import ValidationStage
from assay_contracts.validations import ProgressStep, Verdict
from assay_testkit.gateway.scripted import ScriptedGateway, scripted_gateway
from assay_testkit.reports import mixed_report

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


@pytest.fixture
def make_report() -> ReportMaker:
    return mixed_report


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
