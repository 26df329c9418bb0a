"""`assay skills`: what it sends, shows, and how it ends."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from subprocess import CompletedProcess
from uuid import UUID

import pytest

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
from assay_contracts.scores import Scores
from assay_contracts.validations import Verdict
from assay_testkit.gateway.scripted import JSON, ScriptedGateway

ID = UUID(int=7)
AT = datetime(2026, 3, 4, 5, 6, tzinfo=UTC)
SCORES = Scores(completion=75.0, trigger=100.0, offline=70.0, overall=83.0)
REJECTED = b'{"name": "csv-analyzer", "status": "rejected"}'
TOKEN = "secret-token"
StatusMaker = Callable[..., SkillStatusView]

Run = Callable[..., CompletedProcess[str]]


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
