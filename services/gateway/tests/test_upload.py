"""Uploads: never whole in memory, never too large, and nothing kept of one that is refused."""

import asyncio
import tracemalloc
from collections.abc import AsyncIterator
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import pytest
from structlog.testing import capture_logs

from assay_contracts.rpc import SMALL_UPLOAD_BYTES, IngestSubmit, Problem, ProblemDetails
from assay_gateway.domain.uploads import MAX_UPLOAD_BYTES
from assay_testkit.gateway.running import ADMIN_TOKEN
from assay_testkit.gateway.samples import WARNING
from assay_testkit.gateway.services import Ingest
from assay_testkit.servers import RunningNats
from assay_testkit.waiting import until

pytestmark = pytest.mark.asyncio(loop_scope="module")

PATH = "/api/admin/skills/upload"
MB = 1024 * 1024
CHUNK = b"x" * 64 * 1024
HEAD = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.zip"\r\n\r\n'
TAIL = b"\r\n--b--\r\n"
MULTIPART = {"Content-Type": "multipart/form-data; boundary=b"}


async def body(size: int) -> AsyncIterator[bytes]:
    """A multipart body with a file of `size` bytes, of unknown length to the server."""
    yield HEAD
    whole, rest = divmod(size, len(CHUNK))
    for _ in range(whole):
        yield CHUNK
    yield CHUNK[:rest]
    yield TAIL


async def connection(
    gateway: str, *headers: str
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    address = urlsplit(gateway)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    lines = (
        f"POST {PATH} HTTP/1.1",
        "Host: gateway",
        f"Authorization: Bearer {ADMIN_TOKEN}",
        "Content-Type: multipart/form-data; boundary=b",
        *headers,
    )
    writer.write("".join(f"{line}\r\n" for line in lines).encode() + b"\r\n")
    return reader, writer


async def test_the_largest_upload_arrives_whole(client: httpx.AsyncClient, ingest: Ingest) -> None:
    answer = await client.post(PATH, content=body(MAX_UPLOAD_BYTES), headers=MULTIPART)

    assert answer.status_code == 200
    (received,) = ingest.received
    assert len(received) == MAX_UPLOAD_BYTES
    assert set(received) == {ord("x")}
    assert await ingest.chunks_kept() == 0


@pytest.mark.parametrize(
    ("query", "starts", "told"),
    [
        ("", True, "Skill uploaded, validation started"),
        ("?validate=true", True, "Skill uploaded, validation started"),
        ("?validate=false", False, "Skill uploaded, not validated yet"),
    ],
)
async def test_an_upload_is_validated_unless_it_is_to_wait(
    client: httpx.AsyncClient, ingest: Ingest, query: str, starts: bool, told: str
) -> None:
    answer = await client.post(f"{PATH}{query}", files={"file": ("a.zip", b"content")})

    assert answer.status_code == 200
    assert (answer.json()["validation_id"] is not None, answer.json()["message"]) == (starts, told)
    question = ingest.asked[-1]
    assert isinstance(question, IngestSubmit)
    assert question.start_validation is starts


async def test_whether_to_validate_is_yes_or_no(client: httpx.AsyncClient) -> None:
    answer = await client.post(f"{PATH}?validate=maybe", files={"file": ("a.zip", b"content")})

    assert (answer.status_code, answer.json()["code"]) == (422, "INVALID_REQUEST")


@pytest.mark.parametrize(("excess", "goes_along"), [(0, True), (1, False)])
async def test_a_small_upload_goes_along_with_the_question(
    client: httpx.AsyncClient, ingest: Ingest, excess: int, goes_along: bool
) -> None:
    content = bytes(range(256)) * (SMALL_UPLOAD_BYTES // 256) + b"x" * excess

    answer = await client.post(PATH, files={"file": ("a.zip", content)})

    assert answer.status_code == 200
    (question,) = ingest.asked
    assert isinstance(question, IngestSubmit)
    assert (question.content is not None) == goes_along
    assert ingest.received == [content]


@pytest.mark.parametrize("excess", [1, MB], ids=["by a byte", "by a megabyte"])
async def test_an_upload_that_is_too_large_is_refused_and_never_held(
    client: httpx.AsyncClient, ingest: Ingest, excess: int
) -> None:
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        answer = await client.post(PATH, content=body(MAX_UPLOAD_BYTES + excess), headers=MULTIPART)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert answer.status_code == 413
    assert answer.json()["code"] == "FILE_TOO_LARGE"
    assert peak - before < 8 * MB
    assert ingest.asked == []
    assert await ingest.chunks_kept() == 0


async def test_an_endless_upload_is_refused_while_it_arrives(gateway: str) -> None:
    reader, writer = await connection(gateway, "Transfer-Encoding: chunked")
    chunk = f"{len(CHUNK):x}\r\n".encode() + CHUNK + b"\r\n"
    sent = 0

    async def send() -> None:
        nonlocal sent
        writer.write(f"{len(HEAD):x}\r\n".encode() + HEAD + b"\r\n")
        while True:
            writer.write(chunk)
            await writer.drain()
            sent += len(CHUNK)

    sending = asyncio.create_task(send())
    try:
        async with asyncio.timeout(20):
            status_line = await reader.readline()
    finally:
        sending.cancel()
        writer.close()

    assert status_line.startswith(b"HTTP/1.1 413 ")
    assert sent < MAX_UPLOAD_BYTES + 10 * MB


async def test_an_upload_that_says_it_is_too_large_is_refused_before_it_is_sent(
    gateway: str,
) -> None:
    reader, writer = await connection(
        gateway, f"Content-Length: {MAX_UPLOAD_BYTES + MB}", "Expect: 100-continue"
    )

    async with asyncio.timeout(30):
        status_line = await reader.readline()
    writer.close()

    assert status_line.startswith(b"HTTP/1.1 413 ")


async def test_a_refusal_of_ingest_reaches_the_client_with_all_its_findings(
    client: httpx.AsyncClient, ingest: Ingest
) -> None:
    ingest.refusal = Problem(
        code="INVALID_SKILL_FORMAT",
        message="The skill has 2 errors.",
        details=ProblemDetails(findings=(WARNING, WARNING)),
    )

    answer = await client.post(PATH, files={"file": ("a.zip", b"PK")})

    assert answer.status_code == 400
    assert answer.json()["code"] == "INVALID_SKILL_FORMAT"
    assert [finding["code"] for finding in answer.json()["details"]["findings"]] == [
        "no-requirements",
        "no-requirements",
    ]
    assert await ingest.chunks_kept() == 0


async def test_nothing_is_kept_when_ingest_is_not_there(
    client: httpx.AsyncClient, nats_server: RunningNats
) -> None:
    answer = await client.post(PATH, files={"file": ("a.zip", b"PK")})

    assert answer.status_code == 503
    assert answer.json()["code"] == "SERVICE_UNAVAILABLE"
    assert "ingest" in answer.json()["message"]
    assert answer.headers["Retry-After"]
    async with Ingest(nats_server.url("ingest")) as ingest:
        assert await ingest.chunks_kept() == 0


NOT_MULTIPART = {"Content-Type": "application/zip"}
NO_BOUNDARY = {"Content-Type": "multipart/form-data"}
FIELD = b'--b\r\nContent-Disposition: form-data; name="file"\r\n\r\ntext'
NO_NAME = b'--b\r\nContent-Disposition: form-data; filename="a.zip"\r\n\r\ntext'
OTHER = b'--b\r\nContent-Disposition: form-data; name="skill"; filename="a.zip"\r\n\r\ntext'
EMPTY_FILENAME = b'--b\r\nContent-Disposition: form-data; name="file"; filename=""\r\n\r\ntext'


@pytest.mark.parametrize(
    ("headers", "content"),
    [
        pytest.param({}, b"", id="nothing"),
        pytest.param(NOT_MULTIPART, b"PK", id="not multipart"),
        pytest.param(NO_BOUNDARY, HEAD + b"PK" + TAIL, id="no boundary"),
        pytest.param(MULTIPART, b"", id="empty body"),
        pytest.param(MULTIPART, b"PK", id="no part"),
        pytest.param(MULTIPART, TAIL, id="only the end"),
        pytest.param(MULTIPART, HEAD + b"PK", id="cut short"),
        pytest.param(MULTIPART, FIELD + TAIL, id="a field, not a file"),
        pytest.param(MULTIPART, NO_NAME + TAIL, id="a part without a name"),
        pytest.param(MULTIPART, OTHER + TAIL, id="another name"),
        pytest.param(MULTIPART, EMPTY_FILENAME + TAIL, id="empty filename"),
        pytest.param(MULTIPART, HEAD + b"PK\r\n" + HEAD + b"PK" + TAIL, id="two files"),
        pytest.param(MULTIPART, HEAD + b"PK\r\n" + FIELD + TAIL, id="a file and a field"),
        pytest.param(MULTIPART, b"--b\r\n" + b"X: " + b"y" * 9000 + HEAD + TAIL, id="long header"),
    ],
)
async def test_anything_but_one_file_is_an_invalid_request(
    client: httpx.AsyncClient, headers: dict[str, str], content: bytes
) -> None:
    answer = await client.post(PATH, content=content, headers=headers)

    assert answer.status_code == 422
    assert answer.json()["code"] == "INVALID_REQUEST"
    assert len(answer.json()["details"]["fields"]) == 1


async def test_a_client_that_goes_away_leaves_nothing_behind(gateway: str, ingest: Ingest) -> None:
    with capture_logs() as logs:
        _, writer = await connection(gateway, f"Content-Length: {10 * MB}")
        writer.write(HEAD + CHUNK)
        await writer.drain()
        writer.close()
        await until(
            lambda: "client_gone" in [entry["event"] for entry in logs],
            why="it is noted that the client has gone",
        )

    assert {entry["log_level"] for entry in logs} == {"info"}
    assert ingest.asked == []
    assert await ingest.chunks_kept() == 0


async def test_uploads_side_by_side_do_not_mix(client: httpx.AsyncClient, ingest: Ingest) -> None:
    contents = [str(uuid4()).encode() * 40_000 for _ in range(20)]

    answers = await asyncio.gather(
        *(client.post(PATH, files={"file": ("a.zip", content)}) for content in contents)
    )

    assert {answer.status_code for answer in answers} == {200}
    assert sorted(ingest.received) == sorted(contents)
    assert await ingest.chunks_kept() == 0
