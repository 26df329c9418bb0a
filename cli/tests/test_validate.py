"""`assay validate` against a gateway: what it sends, shows, writes, and how it ends."""

import io
import json
import threading
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from subprocess import CompletedProcess
from uuid import UUID

import pytest

from assay_cli.client import AssayClient, Refused, Unreachable
from assay_contracts.reports import Report
from assay_contracts.rpc import Problem, ProblemCode, ProblemDetails, SkillStatusView
from assay_contracts.skills import Finding, ValidationStage
from assay_contracts.validations import Verdict

SKILL_ID = UUID(int=1)
JSON = "application/json"
TOKEN = "secret-token"

StatusMaker = Callable[..., SkillStatusView]
ReportMaker = Callable[..., Report]
Assay = Callable[..., CompletedProcess[str]]


class ScriptedGateway:
    """Answers each path with what the test put there; `events` may end before the last word."""

    def __init__(self) -> None:
        self.answers: dict[tuple[str, str], list[tuple[int, str, bytes]]] = {}
        self.requests: list[tuple[str, str, str]] = []
        """Method, path, and the Authorization header."""
        self.uploaded = b""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def on(self, method: str, path: str, *answers: tuple[int, str, bytes]) -> None:
        """Each answer is used once, and the last for ever."""
        self.answers[method, f"/api/admin{path}"] = list(answers)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        gateway = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer("GET")

            def do_POST(self) -> None:
                gateway.uploaded = self.rfile.read(int(self.headers["Content-Length"]))
                self._answer("POST")

            def _answer(self, method: str) -> None:
                gateway.requests.append((method, self.path, self.headers["Authorization"]))
                path = self.path
                if "text/markdown" in self.headers["Accept"]:
                    path += "#markdown"
                left = gateway.answers.get((method, path))
                status, kind, body = (404, "application/json", b"{}")
                if left:
                    status, kind, body = left.pop(0) if len(left) > 1 else left[0]
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        return Handler


@pytest.fixture
def gateway() -> Iterator[ScriptedGateway]:
    scripted = ScriptedGateway()
    yield scripted
    scripted.close()


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
        uploaded = {"skill_id": str(SKILL_ID), "name": "csv-analyzer", "format_warnings": []}
        report = make_report(verdict=verdict).model_dump_json().encode()
        end: ValidationStage = "completed" if verdict == "passed" else verdict
        gateway.on("POST", "/skills/upload", (200, JSON, json.dumps(uploaded).encode()))
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
        gateway.on("GET", f"/skills/{SKILL_ID}/report", (200, JSON, report))
        gateway.on(
            "GET", f"/skills/{SKILL_ID}/report#markdown", (200, "text/markdown", b"# csv-analyzer")
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
    assert {authorization for _, _, authorization in gateway.requests} == {f"Bearer {TOKEN}"}


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
    assert target.read_text() == "# csv-analyzer"
    assert str(target) in done.stdout.replace("\n", "")


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
        (("csv-analyzer", "--url", "http://x"), "needs a token"),
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
    async with AssayClient(gateway.url, TOKEN, through_proxies=False) as client:
        return [status.step async for status in client.follow(SKILL_ID)]


async def test_following_survives_a_stream_that_breaks(
    gateway: ScriptedGateway, make_status: StatusMaker
) -> None:
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
    monkeypatch.setattr("assay_cli.client.UNREACHABLE_AFTER_S", 0.2)
    gateway.close()
    with pytest.raises(Unreachable):
        await followed(gateway)
