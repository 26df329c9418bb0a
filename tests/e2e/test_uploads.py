"""Uploads through the whole of Assay: every bad one refused with its reasons, good ones kept."""

import asyncio
import io
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from uuid import UUID

import httpx
import nats
import pytest

from assay_contracts.skills import Finding
from assay_contracts.topology import JETSTREAM_PREFIX
from assay_contracts.validations import ValidationCompleted
from assay_skillkit.rules import RULES
from assay_testkit.archives import Entry, skill_zip
from assay_testkit.hostile import HOSTILE
from assay_testkit.waiting import until

if TYPE_CHECKING:
    from tests.e2e.conftest import Admin

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]
MIB = 1024 * 1024
LONGEST_ANSWER_S = 2.0
UPLOAD = "/api/admin/skills/upload"


class Memory:
    """How much a process has grown at its most, in bytes."""

    def __init__(self, pid: int) -> None:
        self._process = Path("/proc") / str(pid)
        (self._process / "clear_refs").write_text("5")
        self._before = self._read("VmRSS")

    def grown(self) -> int:
        return self._read("VmHWM") - self._before

    def _read(self, field: str) -> int:
        status = (self._process / "status").read_text()
        line = next(line for line in status.splitlines() if line.startswith(f"{field}:"))
        return int(line.split()[1]) * 1024


async def stored(admin: "Admin", bucket: str) -> int:
    """How many chunks of objects the bucket holds."""
    client = await nats.connect(admin.stack.bus_url("scorer"))
    try:
        info = await client.jetstream(prefix=JETSTREAM_PREFIX).stream_info(
            f"OBJ_{bucket}", subjects_filter="$O.*.C.>"
        )
        return sum((info.state.subjects or {}).values())
    finally:
        await client.close()


async def nothing_waits(admin: "Admin") -> None:
    async def is_empty() -> bool:
        return await stored(admin, "uploads") == 0

    await until(is_empty, why="no upload waits in the object store", timeout_s=60, every_s=0.1)


def codes(findings: list[dict[str, str]]) -> list[str]:
    return [finding["code"] for finding in findings]


def expected_code(errors: set[str]) -> str:
    if errors == {"archive-too-large"}:
        return "FILE_TOO_LARGE"
    about_the_archive = any(RULES[code].area == "archive" for code in errors)
    return "INVALID_ZIP" if about_the_archive else "INVALID_SKILL_FORMAT"


async def timed(admin: "Admin", content: bytes) -> tuple[httpx.Response, float]:
    started = time.monotonic()
    answer = await admin.upload(content)
    return answer, time.monotonic() - started


async def test_every_hostile_archive_is_refused_for_its_reasons(admin: "Admin") -> None:
    ingest, gateway = Memory(admin.stack.pid("ingest")), Memory(admin.stack.pid("gateway"))
    bundles = await stored(admin, "bundles")
    pids = admin.stack.pids()
    for case, (build, errors) in HOSTILE.items():
        content = build()
        answer, took = await timed(admin, content)
        if took >= LONGEST_ANSWER_S:
            # The machine may have been busy with something else; an archive that is slow stays so.
            answer, took = await timed(admin, content)
        problem = answer.json()
        assert problem["code"] == expected_code(errors), case
        assert answer.status_code == (413 if problem["code"] == "FILE_TOO_LARGE" else 400), case
        if answer.status_code == 400:
            found = problem["details"]["findings"]
            assert {f["code"] for f in found if f["severity"] == "error"} == errors, case
        assert took < LONGEST_ANSWER_S, case
    assert ingest.grown() < 150 * MIB
    assert gateway.grown() < 50 * MIB
    assert await stored(admin, "bundles") == bundles
    await nothing_waits(admin)
    assert admin.stack.pids() == pids


async def test_hostile_archives_side_by_side_stay_within_memory(admin: "Admin") -> None:
    ingest = Memory(admin.stack.pid("ingest"))
    archives = [build() for build, errors in HOSTILE.values() if errors != {"archive-too-large"}]

    answers = await asyncio.gather(*(admin.upload(content) for content in archives))

    assert {answer.status_code for answer in answers} == {400}
    assert ingest.grown() < 150 * MIB


async def test_large_uploads_are_never_whole_in_memory(admin: "Admin") -> None:
    gateway, ingest = Memory(admin.stack.pid("gateway")), Memory(admin.stack.pid("ingest"))
    content = os.urandom(49 * MIB)

    answers = await asyncio.gather(*(admin.upload(content) for _ in range(3)))

    assert [codes(answer.json()["details"]["findings"]) for answer in answers] == [
        ["not-a-zip"]
    ] * 3
    assert gateway.grown() < 40 * MIB
    assert ingest.grown() < 60 * MIB
    await nothing_waits(admin)


async def test_a_client_that_goes_away_leaves_nothing(admin: "Admin") -> None:
    address = urlsplit(admin.stack.url)
    _, writer = await asyncio.open_connection(address.hostname, address.port)
    head = (
        f"POST {UPLOAD} HTTP/1.1\r\nHost: assay\r\n"
        f"Authorization: Bearer {admin.stack.admin_token}\r\n"
        "Content-Type: multipart/form-data; boundary=b\r\n"
        f"Content-Length: {20 * MIB}\r\n\r\n"
        '--b\r\nContent-Disposition: form-data; name="file"; filename="a.zip"\r\n\r\n'
    )
    writer.write(head.encode() + bytes(5 * MIB))
    await writer.drain()
    gateway = Path("/proc") / str(admin.stack.pid("gateway"))
    await until(lambda: spooled(gateway), why="the upload is being kept", timeout_s=60)
    writer.close()
    await until(lambda: not spooled(gateway), why="nothing of it is kept", timeout_s=60)
    await nothing_waits(admin)


def spooled(process: Path) -> list[str]:
    """Files without a name that the process holds open, as it does for large uploads."""
    targets = []
    for descriptor in (process / "fd").iterdir():
        try:
            targets.append(str(descriptor.readlink()))
        except FileNotFoundError:
            continue
    return [
        target
        for target in targets
        if "(deleted)" in target and target.startswith(tempfile.gettempdir())
    ]


async def test_of_fifty_uploads_of_one_name_one_is_taken(admin: "Admin") -> None:
    def content(n: int) -> bytes:
        skill_md = f"---\nname: fifty\ndescription: Attempt {n}.\n---\n# Fifty\n\nHi.\n"
        return skill_zip_named("fifty", skill_md)

    answers = await asyncio.gather(*(admin.upload(content(n)) for n in range(50)))

    taken = [answer.json() for answer in answers if answer.status_code == 200]
    refused = [answer.json() for answer in answers if answer.status_code == 409]
    assert (len(taken), len(refused)) == (1, 49)
    assert {problem["code"] for problem in refused} == {"SKILL_ALREADY_EXISTS"}
    assert {problem["details"]["skill_id"] for problem in refused} == {taken[0]["skill_id"]}
    detail = (await admin.http.get(f"/api/admin/skills/{taken[0]['skill_id']}")).json()
    assert detail["revision"] == 1


def skill_zip_named(name: str, skill_md: str, **files: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{name}/SKILL.md", skill_md)
        for path, data in files.items():
            archive.writestr(path, data)
    return buffer.getvalue()


QUESTIONABLE = """---
name: questionable
description: Counts the lines and words of a plain text file and writes the counts as JSON.
colour: blue
---

# Counting

See [the manual](manual.md).

```bash
python3 scripts/count.py notes.txt
```
"""
COUNT = b"import pathlib, sys\nprint(len(pathlib.Path(sys.argv[1]).read_text().split()))\n"


async def test_findings_are_the_same_everywhere(admin: "Admin", tmp_path: Path) -> None:
    content = skill_zip_named(
        "questionable",
        QUESTIONABLE,
        **{"questionable/scripts/count.py": COUNT, "questionable/.DS_Store": b"junk"},
    )
    (tmp_path / "questionable.zip").write_bytes(content)
    answer = await admin.upload(content)
    assert answer.status_code == 200
    body = answer.json()
    assert codes(body["findings"]) == [
        "frontmatter-unknown-key",
        "reference-missing",
        "junk-dropped",
    ]
    assert body["format_warnings"] == [found["message"] for found in body["findings"][:2]]

    linted = await asyncio.to_thread(
        subprocess.run,
        (sys.executable, "-m", "assay_cli", "lint", tmp_path / "questionable.zip", "--json"),
        capture_output=True,
        check=True,
    )
    assert json.loads(linted.stdout)["findings"] == body["findings"]

    skill_id = UUID(body["skill_id"])
    detail = (await admin.http.get(f"/api/admin/skills/{skill_id}")).json()
    assert detail["findings"] == body["findings"]
    assert detail["manifest"]["other_fields"] == {"colour": "blue"}
    await admin.ended(skill_id)
    report = await admin.report(skill_id)
    assert list(report.findings) == [Finding.model_validate(f) for f in body["findings"]]
    markdown = await admin.markdown(skill_id)
    for finding in report.findings:
        assert f"{finding.severity} {finding.code}" in markdown
    assert "SKILL.md:4" in markdown


async def test_identical_content_is_recognised_however_it_was_zipped(admin: "Admin") -> None:
    skill_md = b"---\nname: twice\ndescription: Says hello.\n---\n# Twice\n\nSay hello.\n"
    first = await admin.upload(skill_zip_named("twice", skill_md.decode()))
    assert first.status_code == 200

    again = await admin.upload(_stored_at_root(skill_md))

    assert again.status_code == 409
    problem = again.json()
    assert problem["code"] == "SKILL_ALREADY_EXISTS"
    assert problem["details"] == {"skill_id": first.json()["skill_id"], "same_as_revision": 1}


def _stored_at_root(skill_md: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("SKILL.md", skill_md)
    return buffer.getvalue()


async def test_a_rejected_skill_comes_again_with_its_history_kept(
    admin: "Admin", example: Callable[[str], bytes]
) -> None:
    content = renamed(example("broken-report"), "broken-report", "broken-again")
    first = (await admin.upload(content)).json()
    skill_id = UUID(first["skill_id"])
    assert (await admin.ended(skill_id)).status == "rejected"

    second = await admin.upload(content)

    assert second.status_code == 200
    body = second.json()
    assert (body["skill_id"], body["revision"]) == (first["skill_id"], 2)
    assert body["same_as_revision"] == 1
    assert body["validation_id"] != first["validation_id"]
    await admin.ended(skill_id)

    async def both() -> list[ValidationCompleted] | None:
        said = await admin.completions(skill_id)
        return said if len(said) >= 2 else None

    said = await until(both, why="both completions were announced", timeout_s=30)
    assert [completed.revision for completed in said] == [1, 2]


def renamed(content: bytes, old: str, new: str) -> bytes:
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as source,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for entry in source.infolist():
            data = source.read(entry).replace(old.encode(), new.encode())
            target.writestr(entry.filename.replace(old, new), data)
    return buffer.getvalue()


async def test_the_longest_record_is_taken(admin: "Admin") -> None:
    folders = "/".join(["\U0001f600" * 60] * 3)
    files = [Entry(name=f"demo/{folders}/{n}", data=b"x", method=0) for n in range(450)]
    body = "```bash\n" + "\n".join(f"echo {'x' * 1_900} {n}" for n in range(200)) + "\n```\n"
    skill_md = f"---\nname: demo\ndescription: Says much.\n---\n{body}".encode()

    answer = await admin.upload(skill_zip(*files, skill_md=skill_md))

    assert answer.status_code == 200, answer.text
    detail = await admin.http.get(f"/api/admin/skills/{answer.json()['skill_id']}")
    assert len(detail.json()["manifest"]["files"]) == 451


async def test_a_hundred_uploads_at_once_are_all_answered_right(admin: "Admin") -> None:
    def content(n: int) -> bytes:
        broken = n % 2
        name = f"Hundred-{n}" if broken else f"hundred-{n % 10}"
        return skill_zip_named(name, f"---\nname: {name}\ndescription: Hi.\n---\n# Hi\n\nHi.\n")

    limits = httpx.Limits(max_connections=100)
    async with httpx.AsyncClient(
        base_url=admin.stack.url, headers=admin.http.headers, timeout=60, limits=limits
    ) as http:
        answers = await asyncio.gather(
            *(http.post(UPLOAD, files={"file": ("s.zip", content(n))}) for n in range(100))
        )

    statuses = [answer.status_code for answer in answers]
    assert {status for n, status in enumerate(statuses) if n % 2} == {400}
    assert sorted(status for n, status in enumerate(statuses) if not n % 2) == (
        [200] * 5 + [409] * 45
    )


async def test_an_upload_is_not_validated_until_asked_for_if_so_wished(
    admin: "Admin", make_slow_skill: Callable[[str, float], bytes]
) -> None:
    content = make_slow_skill("waiting", 0.0)
    answer = await admin.http.post(f"{UPLOAD}?validate=false", files={"file": ("s.zip", content)})
    assert answer.status_code == 200, answer.text
    skill_id = answer.json()["skill_id"]
    assert (answer.json()["status"], answer.json()["validation_id"]) == ("pending", None)
    path = f"/api/admin/skills/{skill_id}"
    status = (await admin.http.get(f"{path}/validation-status")).json()
    assert (status["status"], status["validation_stage"], status["progress"]) == (
        "pending",
        None,
        0,
    )
    detail = (await admin.http.get(path)).json()
    assert (detail["name"], detail["format_valid"], detail["verdict"]) == ("waiting", True, None)
    listed = (await admin.http.get("/api/admin/skills?q=waiting")).json()["skills"]
    assert [skill["skill_id"] for skill in listed] == [skill_id]
    approved = await admin.http.post(f"{path}/approve")
    assert (approved.status_code, approved.json()["code"]) == (400, "VALIDATION_NOT_COMPLETED")

    started = await admin.http.post(f"{path}/validate")
    assert started.status_code == 200, started.text
    ended = await admin.ended(UUID(skill_id))
    assert str(ended.validation_id) == started.json()["validation_id"]
    assert [str(each.validation_id) for each in await admin.completions(UUID(skill_id))] == [
        started.json()["validation_id"]
    ]


async def test_who_reads_after_a_write_sees_it_while_many_read_the_same(
    admin: "Admin", make_slow_skill: Callable[[str, float], bytes]
) -> None:
    newest = "/api/admin/skills?size=1"
    written = asyncio.Event()

    async def read_on() -> int:
        count = 0
        while not written.is_set():
            assert (await admin.http.get(newest)).status_code == 200
            count += 1
        return count

    reading = [asyncio.create_task(read_on()) for _ in range(8)]
    try:
        for number in range(15):
            name = f"written-{number}"
            answer = await admin.http.post(
                f"{UPLOAD}?validate=false",
                files={"file": ("s.zip", make_slow_skill(name, 0.0))},
            )
            assert answer.status_code == 200, answer.text
            (skill,) = (await admin.http.get(newest)).json()["skills"]
            assert skill["name"] == name
    finally:
        written.set()
        counts = await asyncio.gather(*reading)
    assert min(counts) > 0
