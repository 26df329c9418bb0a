"""`assay full-test`: begun, waited for, cancelled, listed."""

from collections.abc import Callable
from datetime import UTC, datetime
from subprocess import CompletedProcess
from uuid import UUID

import pytest

from assay_contracts.full_tests import (
    FullTestCounts,
    FullTestPage,
    FullTestView,
)
from assay_contracts.scores import Scores
from assay_contracts.validations import FullTestSkill, Verdict
from assay_testkit.gateway.scripted import JSON, ScriptedGateway

ID = UUID(int=7)
AT = datetime(2026, 3, 4, 5, 6, tzinfo=UTC)
SCORES = Scores(completion=75.0, trigger=100.0, offline=70.0, overall=83.0)

Run = Callable[..., CompletedProcess[str]]


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
