"""The commands that ask a running Assay: what they send, show, and how they end."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from subprocess import CompletedProcess
from uuid import UUID

import pytest

from assay_contracts.full_tests import (
    FullTestCounts,
    FullTestPage,
    FullTestView,
)
from assay_contracts.reports import Report
from assay_contracts.rpc import (
    Problem,
    ProblemCode,
    ProblemDetails,
    SkillPage,
    SkillStatusView,
    SkillSummary,
    ValidationHistory,
    ValidationSummary,
)
from assay_contracts.runtime import RuntimeVersion, RuntimeVersions
from assay_contracts.validations import FullTestSkill, Scores, Verdict
from assay_testkit.gateway.scripted import JSON, ScriptedGateway

ID = UUID(int=7)
AT = datetime(2026, 3, 4, 5, 6, tzinfo=UTC)
TOKEN = "secret-token"
SCORES = Scores(completion=75.0, trigger=100.0, offline=70.0, overall=83.0)

REJECTED = b'{"name": "csv-analyzer", "status": "rejected"}'

Run = Callable[..., CompletedProcess[str]]
StatusMaker = Callable[..., SkillStatusView]
ReportMaker = Callable[..., Report]


@pytest.fixture
def ask(assay: Run, gateway: ScriptedGateway) -> Run:
    """The command, told by its environment where to ask."""

    def run(*words: str | Path) -> CompletedProcess[str]:
        return assay(*words, ASSAY_URL=gateway.url, ASSAY_ADMIN_TOKEN=TOKEN)

    return run


def summary(name: str = "csv-analyzer", **changes: object) -> SkillSummary:
    return SkillSummary(
        skill_id=ID,
        name=name,
        description="Counts rows.",
        status="pending",
        validation_stage="completed",
        validation_score=83.0,
        layer1_passed=True,
        layer2_passed=True,
        created_at=AT,
        validated_at=AT,
    ).model_copy(update=changes)


def page(*skills: SkillSummary, total: int | None = None) -> bytes:
    found = SkillPage(skills=skills, total=total or len(skills), page=1, size=100)
    return found.model_dump_json().encode()


def problem(code: ProblemCode, message: str) -> bytes:
    details = ProblemDetails(allowed=("reject",))
    return Problem(code=code, message=message, details=details).model_dump_json().encode()


def known(gateway: ScriptedGateway, name: str = "csv-analyzer") -> None:
    found = page(summary(f"{name}-2", skill_id=UUID(int=8)), summary(name))
    gateway.on("GET", f"/skills?q={name}&page=1&size=100", (200, JSON, found))


# -- skills -------------------------------------------------------------------------------------


def test_skills_are_listed_by_what_was_asked_for(ask: Run, gateway: ScriptedGateway) -> None:
    path = "/skills?status=pending&q=csv&page=2&size=5"
    gateway.on("GET", path, (200, JSON, page(summary(), total=9)))
    done = ask("skills", "list", "--status", "pending", "-q", "csv", "--page", "2", "--size", "5")
    assert done.returncode == 0, done.stderr
    row = next(line for line in done.stdout.splitlines() if "csv-analyzer" in line)
    assert row.split()[:4] == ["csv-analyzer", "pending", "completed", "83.0"]
    assert str(ID) in row
    assert "1 of 9 skills" in done.stdout
    assert gateway.requests[0].authorization == f"Bearer {TOKEN}"


def test_json_is_the_gateways_answer_and_nothing_else(ask: Run, gateway: ScriptedGateway) -> None:
    gateway.on("GET", "/skills?page=1&size=20", (200, JSON, page(summary())))
    done = ask("skills", "list", "--json")
    assert SkillPage.model_validate_json(done.stdout).skills == (summary(),)


def test_what_skills_say_cannot_steer_the_terminal(ask: Run, gateway: ScriptedGateway) -> None:
    gateway.on("GET", "/skills?page=1&size=20", (200, JSON, page(summary("[red]\x1b[2Jevil"))))
    done = ask("skills", "list")
    assert "[red] [2Jevil" in done.stdout
    assert "\x1b" not in done.stdout


def test_a_skill_is_found_by_its_whole_name_and_shown_with_its_history(
    ask: Run, gateway: ScriptedGateway
) -> None:
    known(gateway)
    detail = {
        **summary().model_dump(mode="json"),
        "revision": 2,
        "bundle_sha256": "a" * 64,
        "uploaded_by": "ann",
        "manifest": {"name": "csv-analyzer", "description": "Counts rows."},
        "findings": [],
        "validation_id": None,
        "verdict": "passed",
        "reason": "The overall score 83 reaches 70.",
        "scores": None,
    }
    history = ValidationHistory(
        validations=(
            ValidationSummary(
                validation_id=UUID(int=9),
                revision=2,
                kind="full_test",
                validation_stage="completed",
                verdict="passed",
                reason="",
                scores=SCORES,
                layer1_passed=True,
                layer2_passed=None,
                queued_at=AT,
                started_at=AT,
                completed_at=AT,
            ),
        ),
        total=1,
        page=1,
        size=20,
    )
    gateway.on("GET", f"/skills/{ID}", (200, JSON, json.dumps(detail).encode()))
    gateway.on("GET", f"/skills/{ID}/validations", (200, JSON, history.model_dump_json().encode()))
    done = ask("skills", "show", "csv-analyzer")
    assert done.returncode == 0, done.stderr
    assert "by ann" in done.stdout
    assert "passed: The overall score 83 reaches 70." in done.stdout
    row = next(line for line in done.stdout.splitlines() if str(UUID(int=9)) in line)
    assert row.split()[1:6] == ["full", "test", "2", "passed", "83.0"]


def test_a_name_that_nobody_has_is_bad_input(ask: Run, gateway: ScriptedGateway) -> None:
    known(gateway, "csv")
    gateway.on("GET", "/skills?q=csv&page=1&size=100", (200, JSON, page(summary())))
    done = ask("skills", "show", "csv")
    assert done.returncode == 2
    assert "No skill is called 'csv'" in done.stderr
    assert "assay skills list" in done.stderr


@pytest.mark.parametrize("action", ["approve", "cancel", "revalidate"])
def test_an_action_is_sent_and_its_answer_told(
    ask: Run, gateway: ScriptedGateway, action: str
) -> None:
    answer = json.dumps({"name": "csv-analyzer", "message": f"{action} was done"}).encode()
    gateway.on("POST", f"/skills/{ID}/{action}", (200, JSON, answer))
    done = ask("skills", action, str(ID))
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"csv-analyzer: {action} was done\n"
    assert gateway.sent() == [("POST", f"/skills/{ID}/{action}")]


def test_a_rejection_carries_its_reason(ask: Run, gateway: ScriptedGateway) -> None:
    known(gateway)
    gateway.on("POST", f"/skills/{ID}/reject", (200, JSON, REJECTED))
    done = ask("skills", "reject", "csv-analyzer", "--reason", "It is slow.")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "csv-analyzer: rejected\n"
    assert json.loads(gateway.requests[-1].body) == {"reason": "It is slow."}


@pytest.mark.parametrize(
    "refusal",
    [
        (400, "INVALID_STATUS_TRANSITION", 2),
        (409, "VALIDATION_IN_PROGRESS", 2),
        (401, "UNAUTHORIZED", 2),
        (503, "SERVICE_UNAVAILABLE", 3),
        (500, "VALIDATION_ERROR", 3),
    ],
)
def test_a_refusal_is_one_line_and_an_exit_code(
    ask: Run, gateway: ScriptedGateway, refusal: tuple[int, ProblemCode, int]
) -> None:
    status, code, exit_code = refusal
    gateway.on("POST", f"/skills/{ID}/approve", (status, JSON, problem(code, "Not now.\nLater.")))
    done = ask("skills", "approve", str(ID))
    assert done.returncode == exit_code
    assert done.stderr == f"assay: {code}: Not now. Later.\n"
    assert done.stdout == ""


def test_nothing_is_deleted_unless_somebody_is_sure(ask: Run, gateway: ScriptedGateway) -> None:
    detail = {
        **summary().model_dump(mode="json"),
        "revision": 1,
        "bundle_sha256": "a" * 64,
        "uploaded_by": "ann",
        "findings": [],
        "manifest": {"name": "csv-analyzer", "description": "d"},
        "validation_id": None,
        "verdict": None,
        "reason": None,
        "scores": None,
    }
    gateway.on("GET", f"/skills/{ID}", (200, JSON, json.dumps(detail).encode()))
    gateway.on("DELETE", f"/skills/{ID}", (200, JSON, b'{"name": "csv-analyzer"}'))
    done = ask("skills", "delete", str(ID))
    assert done.returncode == 2
    assert "--yes" in done.stderr
    assert ("DELETE", f"/skills/{ID}") not in gateway.sent()
    assert ask("skills", "delete", str(ID), "--yes").returncode == 0
    assert gateway.sent()[-1] == ("DELETE", f"/skills/{ID}")


@pytest.mark.parametrize("ending", [("passed", 0), ("failed", 1), ("inconclusive", 3)])
def test_waiting_for_a_validation_ends_as_its_verdict(
    ask: Run, gateway: ScriptedGateway, make_status: StatusMaker, ending: tuple[Verdict, int]
) -> None:
    verdict, exit_code = ending
    stage = "completed" if verdict == "passed" else verdict
    last = make_status("done", stage, verdict=verdict)
    gateway.on("POST", f"/skills/{ID}/revalidate", (200, JSON, b'{"name": "csv-analyzer"}'))
    stream = f"event: status\ndata: {last.model_dump_json()}\n\n".encode()
    gateway.on("GET", f"/skills/{ID}/events", (200, "text/event-stream", stream))
    assert ask("skills", "revalidate", str(ID), "--wait").returncode == exit_code


# -- reports ------------------------------------------------------------------------------------


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


# -- full tests ---------------------------------------------------------------------------------


def full_test(
    status: str = "completed", *, verdicts: tuple[Verdict, ...] = ("passed",)
) -> FullTestView:
    skills = tuple(
        FullTestSkill(
            skill_id=UUID(int=n),
            skill_name=f"skill-{n}",
            validation_id=UUID(int=100 + n),
            step="done",
            tasks=5,
            verdict=verdict,
            scores=SCORES,
            scores_before=SCORES.model_copy(update={"overall": 90.0}),
            worse=verdict == "failed",
            changes=("tabulate 0.8 → 0.9",) if verdict == "failed" else (),
        )
        for n, verdict in enumerate(verdicts)
    )
    return FullTestView.model_validate(
        {
            "full_test_id": ID,
            "status": status,
            "started_by": "ann",
            "runtime_version": "v1.2",
            "started_at": AT,
            "counts": FullTestCounts(
                total=len(verdicts),
                done=len(verdicts) if status != "running" else 0,
                passed=verdicts.count("passed"),
                failed=verdicts.count("failed"),
                inconclusive=verdicts.count("inconclusive"),
            ),
            "skills": skills,
        }
    )


def as_json(view: FullTestView | FullTestPage) -> tuple[int, str, bytes]:
    return 200, JSON, view.model_dump_json().encode()


def newest(gateway: ScriptedGateway, *views: FullTestView) -> None:
    found = FullTestPage(full_tests=views, total=len(views), page=1, size=1)
    gateway.on("GET", "/full-tests?size=1", as_json(found))


@pytest.mark.parametrize(
    "ending",
    [
        ("completed", ("passed", "passed"), 0),
        ("completed", ("passed", "failed", "inconclusive"), 1),
        ("completed", ("passed", "inconclusive"), 3),
        ("cancelled", ("passed",), 3),
    ],
)
def test_a_full_test_that_is_waited_for_ends_as_its_skills_did(
    ask: Run, gateway: ScriptedGateway, ending: tuple[str, tuple[Verdict, ...], int]
) -> None:
    status, verdicts, exit_code = ending
    gateway.on("POST", "/skills/full-test", as_json(full_test("running")))
    over = full_test(status, verdicts=verdicts)
    gateway.on("GET", f"/full-tests/{ID}", as_json(full_test("running")), as_json(over))
    done = ask("full-test", "start", "--wait")
    assert done.returncode == exit_code, done.stderr
    for number, verdict in enumerate(verdicts):
        assert f"skill-{number}: {verdict}, 83.0" in done.stderr
    assert ("worse: tabulate 0.8 → 0.9" in done.stdout) == ("failed" in verdicts)


def test_the_newest_full_test_is_meant_when_none_is_named(
    ask: Run, gateway: ScriptedGateway
) -> None:
    newest(gateway, full_test("running"))
    gateway.on("GET", f"/full-tests/{ID}", as_json(full_test("running")))
    done = ask("full-test", "status", "--json")
    assert done.returncode == 0, done.stderr
    assert FullTestView.model_validate_json(done.stdout) == full_test("running")
    gateway.on("POST", f"/full-tests/{ID}/cancel", as_json(full_test("cancelled")))
    cancelled = ask("full-test", "cancel")
    assert cancelled.returncode == 0, cancelled.stderr
    assert "1 of 1 skills had been tested" in cancelled.stdout


def test_without_any_full_test_the_way_to_one_is_told(ask: Run, gateway: ScriptedGateway) -> None:
    newest(gateway)
    done = ask("full-test", "status")
    assert done.returncode == 2
    assert "assay full-test start" in done.stderr


def test_full_tests_are_listed(ask: Run, gateway: ScriptedGateway) -> None:
    found = FullTestPage(full_tests=(full_test(),), total=1, page=1, size=20)
    gateway.on("GET", "/full-tests?page=1&size=20", as_json(found))
    done = ask("full-test", "list")
    assert done.returncode == 0, done.stderr
    assert str(ID) in done.stdout
    assert "completed" in done.stdout


# -- runtime versions ---------------------------------------------------------------------------


def test_runtime_versions_are_listed(ask: Run, gateway: ScriptedGateway) -> None:
    versions = RuntimeVersions(
        versions=(
            RuntimeVersion(
                version="v1.1",
                built_on="v1.0",
                skill_id=ID,
                skill_name="csv-analyzer",
                created_at=AT,
                created_by="ann",
                is_current=True,
                is_available=True,
            ),
        ),
        current_version="v1.1",
        total=1,
    )
    gateway.on("GET", "/images", (200, JSON, versions.model_dump_json().encode()))
    done = ask("images", "list")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1].split()[:4] == ["v1.1", "current", "csv-analyzer", "v1.0"]


def test_a_rollback_shows_first_what_it_would_do(ask: Run, gateway: ScriptedGateway) -> None:
    would = json.dumps({"affected_skills": ["late"], "restored_skills": []}).encode()
    gateway.on("GET", "/images/v1.2/rollback-preview", (200, JSON, would))
    did = json.dumps({**json.loads(would), "message": "v1.2 is current now."}).encode()
    gateway.on("POST", "/images/rollback", (200, JSON, did))
    unsure = ask("images", "rollback", "v1.2")
    assert unsure.returncode == 2
    assert "Hidden from agents: late; approved again: none." in unsure.stderr
    assert gateway.sent() == [("GET", "/images/v1.2/rollback-preview")]
    done = ask("images", "rollback", "v1.2", "--yes")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "v1.2 is current now.\n"
    assert json.loads(gateway.requests[-1].body) == {"target_version": "v1.2"}


# -- nobody reads -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["lint", "--help"],
        ["lint", "."],
        ["lint", ".", "--json"],
        ["config", "show"],
        ["doctor"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("errors_are_read", [True, False])
def test_a_reader_that_went_away_says_nothing_of_a_skill(
    skill: Path, words: list[str], errors_are_read: bool
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "assay_cli", *words],
            cwd=skill,
            env={"PATH": os.environ["PATH"], "HOME": str(skill)},
            text=True,
            check=False,
            stdout=writing,
            stderr=subprocess.PIPE if errors_are_read else writing,
        )
    finally:
        os.close(writing)
    assert done.returncode == 3
    if errors_are_read:
        assert done.stderr.startswith("assay: Whoever read the output went away")
        assert done.stderr.count("\n") == 1
