"""`assay validate` against a gateway: what it sends, shows, writes, and how it ends."""

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from uuid import UUID

import pytest

from assay_cli.connection import Connection
from assay_cli.gateway_client import GatewayClient, Refused, Unreachable
from assay_contracts.reports import Report
from assay_contracts.rest import UploadAnswer
from assay_contracts.rpc import (
    Problem,
    ProblemCode,
    ProblemDetails,
    SkillPage,
    SkillStatusView,
    SubmitReply,
)
from assay_contracts.skills import Finding, ValidationStage
from assay_contracts.validations import Verdict
from assay_skillkit.bundle import write_bundle
from assay_skillkit.check import check_folder
from assay_testkit.gateway.samples import sample_detail
from assay_testkit.gateway.scripted import JSON, ScriptedGateway

SKILL_ID = UUID(int=1)
TOKEN = "secret-token"

StatusMaker = Callable[..., SkillStatusView]
ReportMaker = Callable[..., Report]
Assay = Callable[..., CompletedProcess[str]]


def as_events(*statuses: SkillStatusView) -> bytes:
    return "".join(
        f"id: {number}\nevent: status\ndata: {status.model_dump_json()}\n\n"
        for number, status in enumerate(statuses, 1)
    ).encode()


@pytest.fixture
def validated(
    gateway: ScriptedGateway, make_status: StatusMaker, make_report: ReportMaker
) -> Callable[[Verdict], None]:
    """Let the gateway take an upload through to the given verdict."""

    def prepare(verdict: Verdict) -> None:
        uploaded = UploadAnswer.of(
            SubmitReply(
                skill_id=SKILL_ID, name="csv-analyzer", status="pending", validation_id=None
            )
        )
        report = make_report(verdict=verdict).model_dump_json().encode()
        end: ValidationStage = "completed" if verdict == "passed" else verdict
        gateway.on("POST", "/skills/upload", (200, JSON, uploaded.model_dump_json().encode()))
        gateway.on(
            "GET",
            f"/skills/{SKILL_ID}/events",
            (
                200,
                "text/event-stream",
                as_events(
                    make_status("planning"),
                    make_status("online_run", detail="task 2 of 3"),
                    make_status("done", end, verdict=verdict),
                ),
            ),
        )
        gateway.on("GET", f"/skills/{SKILL_ID}/report?format=json", (200, JSON, report))
        for form in ("markdown", "junit"):
            gateway.on(
                "GET",
                f"/skills/{SKILL_ID}/report?format={form}",
                (200, "text/plain", f"the {form}".encode()),
            )

    return prepare


def problem(code: ProblemCode, message: str, *findings: Finding) -> bytes:
    details = ProblemDetails(findings=findings)
    return Problem(code=code, message=message, details=details).model_dump_json().encode()


@pytest.mark.parametrize("ending", [("passed", 0), ("failed", 1), ("inconclusive", 3)])
def test_the_exit_code_is_the_verdict(
    assay: Assay,
    gateway: ScriptedGateway,
    validated: Callable[[Verdict], None],
    skill: Path,
    ending: tuple[Verdict, int],
) -> None:
    verdict, code = ending
    validated(verdict)
    done = assay("validate", skill, "--url", gateway.url, "--token", TOKEN)
    assert done.returncode == code, done.stderr
    assert f"csv-analyzer  {verdict.upper()}" in done.stdout
    assert {request.authorization for request in gateway.requests} == {f"Bearer {TOKEN}"}


def test_progress_goes_to_standard_error_step_by_step(
    assay: Assay,
    gateway: ScriptedGateway,
    validated: Callable[[Verdict], None],
    skill: Path,
) -> None:
    validated("passed")
    done = assay("validate", skill, "--url", gateway.url, ASSAY_ADMIN_TOKEN=TOKEN)
    for line in ("writing tasks: done in", "online run: task 2 of 3", "online run: done in"):
        assert line in done.stderr
        assert line not in done.stdout


def test_json_is_the_report_and_nothing_else(
    assay: Assay,
    gateway: ScriptedGateway,
    validated: Callable[[Verdict], None],
    make_report: ReportMaker,
    skill: Path,
) -> None:
    validated("failed")
    done = assay("validate", skill, "--json", "--url", gateway.url, "--token", TOKEN)
    assert done.returncode == 1
    assert Report.model_validate_json(done.stdout) == make_report(verdict="failed")


def test_the_markdown_is_written_where_asked(
    assay: Assay,
    gateway: ScriptedGateway,
    validated: Callable[[Verdict], None],
    skill: Path,
    tmp_path: Path,
) -> None:
    validated("passed")
    target = tmp_path / "report.md"
    done = assay("validate", skill, "--report", target, "--url", gateway.url, "--token", TOKEN)
    assert done.returncode == 0
    assert target.read_text() == "the markdown"
    assert str(target) in done.stdout.replace("\n", "")


def test_a_ci_gets_its_junit_and_a_summary_on_its_page(
    assay: Assay,
    gateway: ScriptedGateway,
    validated: Callable[[Verdict], None],
    skill: Path,
    tmp_path: Path,
) -> None:
    validated("failed")
    junit, page = tmp_path / "junit.xml", tmp_path / "page.md"
    page.write_text("# Build\n\n")
    done = assay(
        *("validate", skill, "--junit", junit),
        ASSAY_URL=gateway.url,
        ASSAY_ADMIN_TOKEN=TOKEN,
        GITHUB_STEP_SUMMARY=str(page),
    )
    assert done.returncode == 1, done.stderr
    assert junit.read_text() == "the junit"
    text = page.read_text()
    assert text.startswith("# Build\n\n## ❌ csv\\-analyzer: failed\n")
    assert "| 59.3 | 62.5 | 50.0 | 70.0 |" in text
    assert "| t1 | 5 of 5 | 5 of 5 | Do thing 1. |" in text


def test_a_folder_is_sent_as_a_zip_with_the_folder_on_top(
    assay: Assay,
    gateway: ScriptedGateway,
    validated: Callable[[Verdict], None],
    skill: Path,
) -> None:
    validated("passed")
    assay("validate", skill, "--url", gateway.url, "--token", TOKEN)
    start, end = gateway.uploaded.index(b"PK\x03\x04"), gateway.uploaded.rindex(b"\r\n--")
    with zipfile.ZipFile(io.BytesIO(gateway.uploaded[start:end])) as archive:
        assert archive.namelist() == ["csv-analyzer/SKILL.md", "csv-analyzer/scripts/summarize.py"]
    assert b'name="file"; filename="csv-analyzer.zip"' in gateway.uploaded


@pytest.mark.parametrize(
    "refusal",
    [
        (400, "INVALID_SKILL_FORMAT", 2),
        (400, "INVALID_ZIP", 2),
        (401, "UNAUTHORIZED", 2),
        (409, "SKILL_ALREADY_EXISTS", 2),
        (413, "FILE_TOO_LARGE", 2),
        (408, "VALIDATION_TIMEOUT", 3),
        (500, "VALIDATION_ERROR", 3),
        (503, "SERVICE_UNAVAILABLE", 3),
    ],
)
def test_a_refusal_is_told_in_one_line(
    assay: Assay, gateway: ScriptedGateway, skill: Path, refusal: tuple[int, ProblemCode, int]
) -> None:
    status, code, exit_code = refusal
    gateway.on("POST", "/skills/upload", (status, JSON, problem(code, "No.\nReally not.")))
    done = assay("validate", skill, "--url", gateway.url, "--token", TOKEN)
    assert done.returncode == exit_code
    assert done.stderr.splitlines() == [f"assay: {code}: No. Really not."]
    assert done.stdout == ""


def test_every_reason_of_a_format_refusal_is_told(
    assay: Assay, gateway: ScriptedGateway, skill: Path
) -> None:
    findings = (
        Finding(
            code="name",
            severity="error",
            message="Bad name.",
            fix="Mend it.",
            path="SKILL.md",
            line=2,
        ),
        Finding(code="body", severity="warning", message="No body.", fix="Write one."),
    )
    body = problem("INVALID_SKILL_FORMAT", "The skill is refused.", *findings)
    gateway.on("POST", "/skills/upload", (400, JSON, body))
    done = assay("validate", skill, "--json", "--url", gateway.url, "--token", TOKEN)
    assert done.returncode == 2
    assert done.stderr.splitlines()[1:] == [
        "error: SKILL.md:2: Bad name. Mend it.",
        "warning: No body. Write one.",
    ]
    assert Problem.model_validate_json(done.stdout).details.findings == findings


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("no/such/folder", "--token", "t", "--url", "http://x"), "does not exist"),
        ((".", "--token", "t", "--url", "http://x"), "holds no SKILL.md"),
        (("csv-analyzer", "--url", "http://x"), "no token for http://x"),
        (("csv-analyzer", "--report", "no/such/folder/r.md"), "does not exist"),
        (("csv-analyzer", "--no-such-option"), "--no-such-option"),
        ((), "PATH"),
    ],
)
def test_wrong_usage_is_told_before_anything_is_started(
    assay: Assay, skill: Path, arguments: tuple[str, ...], reason: str
) -> None:
    done = assay("validate", *arguments)
    assert done.returncode == 2
    assert reason in done.stderr
    assert done.stdout == ""


def test_an_address_where_nobody_listens(assay: Assay, skill: Path) -> None:
    done = assay("validate", skill, "--url", "http://127.0.0.1:9", "--token", TOKEN)
    assert done.returncode == 3
    assert done.stderr.startswith("assay: Assay at http://127.0.0.1:9 cannot be reached")


def test_something_else_than_assay_at_the_address(
    assay: Assay, gateway: ScriptedGateway, skill: Path
) -> None:
    gateway.on("POST", "/skills/upload", (404, "text/html", b"<h1>Not here</h1>"))
    done = assay("validate", skill, "--url", gateway.url, "--token", TOKEN)
    assert done.returncode == 2
    assert "see that the address is Assay's" in done.stderr


async def followed(gateway: ScriptedGateway) -> list[str | None]:
    async with GatewayClient(Connection(gateway.url, TOKEN, on_this_machine=True)) as client:
        return [status.step async for status in client.follow_validation(SKILL_ID)]


async def test_following_survives_a_stream_that_breaks(
    gateway: ScriptedGateway, make_status: StatusMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay_cli.gateway_client.POLL_S", 0.01)
    stream = "text/event-stream"
    gateway.on(
        "GET",
        f"/skills/{SKILL_ID}/events",
        (200, stream, as_events(make_status("planning"))),
        (200, stream, b"event: status\ndata: {nonsense\n\n"),
        (502, "text/html", b"bad gateway"),
        (200, stream, as_events(make_status("done", "completed"))),
    )
    gateway.on(
        "GET",
        f"/skills/{SKILL_ID}/validation-status",
        (200, JSON, make_status("online_run").model_dump_json().encode()),
        (503, JSON, problem("SERVICE_UNAVAILABLE", "The scorer is not running.")),
        (200, JSON, make_status("offline_run").model_dump_json().encode()),
    )
    assert await followed(gateway) == ["planning", "online_run", "offline_run", "done"]


async def test_following_ends_by_asking_where_there_is_no_stream_at_all(
    gateway: ScriptedGateway, make_status: StatusMaker
) -> None:
    gateway.on(
        "GET",
        f"/skills/{SKILL_ID}/validation-status",
        (200, JSON, make_status("planning").model_dump_json().encode()),
        (200, JSON, make_status("done", "failed").model_dump_json().encode()),
    )
    assert await followed(gateway) == ["planning", "done"]


async def test_following_a_skill_that_is_gone_ends_with_that_reason(
    gateway: ScriptedGateway,
) -> None:
    gateway.on(
        "GET",
        f"/skills/{SKILL_ID}/validation-status",
        (404, JSON, problem("SKILL_NOT_FOUND", "No such skill.")),
    )
    with pytest.raises(Refused, match="SKILL_NOT_FOUND"):
        await followed(gateway)


async def test_following_a_gateway_that_stays_away_is_given_up(
    gateway: ScriptedGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay_cli.gateway_client.UNREACHABLE_AFTER_S", 0.2)
    gateway.close()
    with pytest.raises(Unreachable):
        await followed(gateway)


@pytest.fixture
def known(
    gateway: ScriptedGateway, skill: Path, validated: Callable[[Verdict], None]
) -> Callable[..., None]:
    """Let the gateway have this very skill already, with the given verdict."""

    def prepare(verdict: Verdict | None, *, sha256: str | None = None) -> None:
        (skill / "SKILL.md").write_text("---\nname: csv-analyzer\ndescription: Reads.\n---\nDo.\n")
        checked = check_folder(skill)
        assert checked.files is not None
        bundle = write_bundle(checked.files, "csv-analyzer", io.BytesIO())
        detail = sample_detail(SKILL_ID).model_copy(
            update={"bundle_sha256": sha256 or bundle.sha256, "verdict": verdict}
        )
        page = SkillPage(skills=(detail,), total=1, page=1, size=100)
        validated(verdict or "passed")
        gateway.on(
            "GET",
            "/skills?q=csv-analyzer&page=1&size=100",
            (200, JSON, page.model_dump_json().encode()),
        )
        gateway.on("GET", f"/skills/{SKILL_ID}", (200, JSON, detail.model_dump_json().encode()))
        gateway.on("POST", f"/skills/{SKILL_ID}/revalidate", (200, JSON, b"{}"))

    return prepare


@pytest.mark.parametrize(
    "ending",
    [
        ("passed", (), 0, []),
        ("failed", (), 1, []),
        (None, (), 0, []),
        ("inconclusive", (), 3, [f"/skills/{SKILL_ID}/revalidate"]),
        ("passed", ("--again",), 0, [f"/skills/{SKILL_ID}/revalidate"]),
    ],
)
def test_unchanged_content_has_the_verdict_that_stands(
    assay: Assay,
    gateway: ScriptedGateway,
    known: Callable[..., None],
    skill: Path,
    ending: tuple[Verdict | None, tuple[str, ...], int, list[str]],
) -> None:
    verdict, options, exit_code, sent = ending
    known(verdict)
    done = assay("validate", skill, *options, "--url", gateway.url, "--token", TOKEN)
    assert done.returncode == exit_code, done.stderr
    assert [path for method, path in gateway.sent() if method == "POST"] == sent
    assert f"csv-analyzer  {(verdict or 'passed').upper()}" in done.stdout


def test_other_content_is_uploaded(
    assay: Assay, gateway: ScriptedGateway, known: Callable[..., None], skill: Path
) -> None:
    known("failed", sha256="0" * 64)
    assay("validate", skill, "--url", gateway.url, "--token", TOKEN)
    assert ("POST", "/skills/upload") in gateway.sent()
