"""`assay report`: a card on the screen, or the report as it is."""

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from uuid import UUID

import pytest

from assay_contracts.reports import Report
from assay_testkit.gateway.scripted import JSON, ScriptedGateway

ID = UUID(int=7)
ReportMaker = Callable[..., Report]

Run = Callable[..., CompletedProcess[str]]


def test_a_report_is_a_score_card_on_the_screen(
    ask: Run, gateway: ScriptedGateway, make_report: ReportMaker
) -> None:
    report = make_report().model_dump_json().encode()
    gateway.on("GET", f"/skills/{ID}/report?format=json", (200, JSON, report))
    done = ask("report", str(ID))
    assert done.returncode == 0, done.stderr
    assert "csv-analyzer  PASSED  59.3 of 100" in done.stdout


@pytest.mark.parametrize("form", ["json", "markdown", "html", "junit"])
def test_a_report_is_given_byte_for_byte_in_other_forms(
    ask: Run, gateway: ScriptedGateway, tmp_path: Path, form: str
) -> None:
    content = f"the {form} of it, ü".encode()
    gateway.on("GET", f"/skills/{ID}/report?format={form}", (200, "text/plain", content))
    target = tmp_path / "report"
    done = ask("report", str(ID), "--format", form, "--output", target)
    assert done.returncode == 0, done.stderr
    assert target.read_bytes() == content
    nowhere = ask("report", str(ID), "-f", form, "-o", tmp_path / "no" / "report")
    assert nowhere.returncode == 2
    assert "--output" in nowhere.stderr


def test_json_on_the_screen_steers_no_terminal(ask: Run, gateway: ScriptedGateway) -> None:
    said = {"words": "one\x9b2Jtwo\u202ethree\u2066\u2028\x85\U000e0001 ü 技能"}
    document = json.dumps(said, ensure_ascii=False)
    gateway.on("GET", f"/skills/{ID}/report?format=json", (200, JSON, document.encode()))
    done = ask("report", str(ID), "--format", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == said
    assert "ü 技能" in done.stdout
    assert all(sign.isprintable() for sign in done.stdout.rstrip("\n"))
