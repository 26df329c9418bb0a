"""The REST API as outsiders use it, on a stack of its own: the documented flow, every misuse."""

import asyncio
import io
import json
import os
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import httpx
import pytest
import pytest_asyncio

from assay_cli.embedded.stack import Stack
from assay_testkit.servers import private_folder
from assay_testkit.waiting import until

if TYPE_CHECKING:
    from tests.e2e.conftest import Admin

pytestmark = pytest.mark.asyncio(loop_scope="module")

HERE = Path(__file__).parent / "api"
FUZZ_WITHIN_S = 600
LEAST_CASES = 700
"""Of about 950; fewer would mean that the tool stopped early."""

# The commands that the API was designed with, word for word; only what stands in braces, the port
# and the id of the skill are filled in.
UPLOAD = """curl -X POST "http://localhost:8002/api/admin/skills/upload" \\
  -H "Authorization: Bearer {admin_token}" \\
  -F "file=@csv-analyzer.zip"
"""
DETAIL = """curl -X GET "http://localhost:8002/api/admin/skills/uuid-xxx" \\
  -H "Authorization: Bearer {admin_token}"
"""
REPORT = """curl -X GET "http://localhost:8002/api/admin/skills/uuid-xxx/report" \\
  -H "Authorization: Bearer {admin_token}"
"""
APPROVE = """curl -X POST "http://localhost:8002/api/admin/skills/uuid-xxx/approve" \\
  -H "Authorization: Bearer {admin_token}"
"""
IMAGES = """curl -X GET "http://localhost:8002/api/admin/images" \\
  -H "Authorization: Bearer {admin_token}"
"""
ROLLBACK = """curl -X POST "http://localhost:8002/api/admin/images/rollback" \\
  -H "Authorization: Bearer {admin_token}" \\
  -H "Content-Type: application/json" \\
  -d '{"target_version": "v1.2"}'
"""
ROLLED_BACK = """curl -X GET "http://localhost:8002/api/admin/skills?status=rollback_pending" \\
  -H "Authorization: Bearer {admin_token}"
"""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: Any


def curl(line: str, folder: Path) -> Answer:
    """Carry out one command line in `folder`: by curl, or where there is none, as it would."""
    words = shlex.split(line.replace("\\\n", " "))
    assert words[0] == "curl"
    return _by_curl(words, folder) if shutil.which("curl") else _as_curl(words[1:], folder)


def _by_curl(words: list[str], folder: Path) -> Answer:
    done = subprocess.run(
        [*words, "--silent", "--show-error", "--max-time", "60", "--write-out", "\n%{http_code}"],
        cwd=folder,
        capture_output=True,
        check=True,
        text=True,
    )
    body, _, status = done.stdout.rpartition("\n")
    return Answer(int(status), json.loads(body))


def _as_curl(words: list[str], folder: Path) -> Answer:
    method, headers, content, files, url = "GET", {}, None, {}, ""
    rest = iter(words)
    for word in rest:
        match word:
            case "-X":
                method = next(rest)
            case "-H":
                name, _, value = next(rest).partition(":")
                headers[name] = value.strip()
            case "-d":
                content = next(rest)
            case "-F":
                name, _, path = next(rest).partition("=@")
                files[name] = (path, (folder / path).read_bytes(), "application/octet-stream")
            case _:
                assert not word.startswith("-"), f"{word} is not known here"
                url = word
    answer = httpx.request(
        method, url, headers=headers, content=content, files=files or None, timeout=60
    )
    return Answer(answer.status_code, answer.json())


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def api(
    open_admin: "Callable[[Stack], AbstractAsyncContextManager[Admin]]",
) -> "AsyncIterator[Admin]":
    """A stack that nobody else relies on: nothing here is asked for carefully."""
    with pytest.MonkeyPatch.context() as patch, private_folder() as folder:
        # What is tested here is what gets through.
        patch.setenv("ASSAY_AUTH_FAILURES_PER_MINUTE", "1000000")
        patch.setenv("ASSAY_UPLOADS_PER_MINUTE", "1000000")
        async with Stack(folder) as stack, open_admin(stack) as admin:
            yield admin


async def passed(api: "Admin", content: bytes) -> UUID:
    skill_id = await api.submit(content)
    status = await api.ended(skill_id)
    assert status.verdict == "passed", status.reason
    return skill_id


async def approved(api: "Admin", content: bytes) -> UUID:
    skill_id = await passed(api, content)
    answer = await api.http.post(f"/api/admin/skills/{skill_id}/approve")
    assert answer.status_code == 200, answer.text
    return skill_id


@pytest.mark.timeout(400)
async def test_the_documented_commands_work_as_written(
    api: "Admin",
    example: Callable[[str], bytes],
    labelled: Callable[[str], bytes],
    tmp_path: Path,
) -> None:
    for name in ("json-sorter", "blank-trimmer"):
        await approved(api, labelled(name))
    (tmp_path / "csv-analyzer.zip").write_bytes(example("csv-analyzer"))
    skill_id = "uuid-xxx"

    async def sent(line: str) -> Answer:
        line = line.replace("http://localhost:8002", api.stack.url)
        line = line.replace("{admin_token}", api.stack.admin_token).replace("uuid-xxx", skill_id)
        return await asyncio.to_thread(curl, line, tmp_path)

    uploaded = await sent(UPLOAD)
    assert (uploaded.status, uploaded.body["format_valid"]) == (200, True)
    skill_id = uploaded.body["skill_id"]

    async def completed() -> Answer | None:
        detail = await sent(DETAIL)
        return detail if detail.body["validation_stage"] == "completed" else None

    detail = await until(completed, why="the validation is completed", timeout_s=120, every_s=0.2)
    assert (detail.status, detail.body["status"]) == (200, "pending")
    report = await sent(REPORT)
    assert (report.status, report.body["skill_id"]) == (200, skill_id)
    accepted = await sent(APPROVE)
    assert (accepted.status, accepted.body["status"]) == (200, "approved")
    assert accepted.body["runtime_image_version"] == "v1.3"

    images = await sent(IMAGES)
    assert (images.status, images.body["current_version"]) == (200, "v1.3")
    back = await sent(ROLLBACK)
    assert (back.status, back.body["affected_skills"]) == (200, ["csv-analyzer"])
    hidden = await sent(ROLLED_BACK)
    assert (hidden.status, hidden.body["total"]) == (200, 1)
    assert hidden.body["skills"][0]["name"] == "csv-analyzer"


async def code_of(api: "Admin", method: str, path: str, **request: Any) -> tuple[int, str]:
    answer = await api.http.request(method, f"/api/admin{path}", **request)
    body = answer.json()
    assert set(body) == {"code", "message", "details"}
    return answer.status_code, body["code"]


async def test_refusals_of_the_real_thing(
    api: "Admin", make_slow_skill: Callable[[str, float], bytes]
) -> None:
    slow = await api.submit(make_slow_skill("slow-one", 5.0))
    await api.until(slow, lambda status: status.validation_stage == "layer1")
    refused = {
        "VALIDATION_IN_PROGRESS": await code_of(api, "POST", f"/skills/{slow}/revalidate"),
        "VALIDATION_NOT_COMPLETED": await code_of(api, "POST", f"/skills/{slow}/approve"),
        "SKILL_NOT_FOUND": await code_of(api, "GET", f"/skills/{uuid4()}"),
        "FULL_TEST_NOT_FOUND": await code_of(api, "GET", f"/full-tests/{uuid4()}"),
        "IMAGE_NOT_FOUND": await code_of(
            api, "POST", "/images/rollback", json={"target_version": "v1.999"}
        ),
        "INVALID_REQUEST": await code_of(api, "GET", "/skills?page=0"),
        "NOT_FOUND": await code_of(api, "GET", "/nothing"),
        "METHOD_NOT_ALLOWED": await code_of(api, "PUT", "/skills"),
        "UNAUTHORIZED": await code_of(api, "GET", "/skills", headers={"Authorization": "no"}),
        "INVALID_ZIP": await _upload(api, b"not a zip"),
        "INVALID_SKILL_FORMAT": await _upload(api, _no_manual()),
        "SKILL_ALREADY_EXISTS": await _upload(api, make_slow_skill("slow-one", 5.0)),
        "FILE_TOO_LARGE": await _upload(api, bytes(50 * 1024 * 1024 + 1)),
    }
    cancelled = await api.http.post(f"/api/admin/skills/{slow}/cancel")
    assert cancelled.status_code == 200
    refused["INVALID_STATUS_TRANSITION"] = await code_of(api, "POST", f"/skills/{slow}/cancel")
    assert {code: got for code, (_, got) in refused.items()} == {code: code for code in refused}


async def _upload(api: "Admin", content: bytes) -> tuple[int, str]:
    files = {"file": ("skill.zip", content, "application/zip")}
    return await code_of(api, "POST", "/skills/upload", files=files)


def _no_manual() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a-skill/README.md", "no manual")
    return buffer.getvalue()


@pytest.mark.timeout(FUZZ_WITHIN_S * 2 + 60)
async def test_the_openapi_document_is_true(api: "Admin") -> None:
    """Every operation, with right and wrong data: nothing undocumented and no defect comes back.

    The tool is not the subject: should it crash, it is run once more, and a second crash fails.
    """
    listed = await api.http.get("/api/admin/skills?size=100")
    started = await api.http.post("/api/admin/skills/full-test")
    assert started.status_code == 200, started.text
    known = {
        "KNOWN_SKILLS": ",".join(skill["skill_id"] for skill in listed.json()["skills"]),
        "KNOWN_FULL_TESTS": started.json()["full_test_id"],
    }
    report, output = await asyncio.to_thread(_fuzz, api, known)
    if report is None:
        report, output = await asyncio.to_thread(_fuzz, api, known)
    assert report is not None, output[-5000:]
    assert report["failures"] == [], output[-20_000:]
    assert report["complete"], output[-5000:]
    assert report["operations"]["tested"] == report["operations"]["total"]
    assert report["test_cases"]["generated"] >= LEAST_CASES


def _fuzz(api: "Admin", known: dict[str, str]) -> tuple[dict[str, Any] | None, str]:
    """What the tool reports and prints; no report if it crashed."""
    with private_folder() as folder:
        path = folder / "report.json"
        done = subprocess.run(
            [
                *(sys.executable, str(HERE / "fuzz.py")),
                *("--config-file", str(HERE / "schemathesis.toml")),
                *("run", f"{api.stack.url}/api/openapi.json"),
                *("--header", f"Authorization: Bearer {api.stack.admin_token}"),
                *("--checks", "all", "--phases", "examples,coverage,fuzzing"),
                *("--max-examples", "5", "--generation-deterministic", "--no-shrink"),
                *("--suppress-health-check", "all", "--continue-on-failure", "--no-color"),
                *("--report", "json", "--report-json-path", str(path)),
            ],
            cwd=folder,
            env={**os.environ, **known},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=FUZZ_WITHIN_S,
            check=False,
            text=True,
        )
        if not path.exists():
            return None, done.stdout
        report: dict[str, Any] = json.loads(path.read_text())
        crashed = report["test_cases"]["errored"] or report["operations"]["errored"]
        return None if crashed else report, done.stdout
