"""Every failure has one shape and its own status."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import get_args
from uuid import UUID, uuid4

import httpx
import nats
import pytest
from nats.aio.msg import Msg
from structlog.testing import capture_logs

from assay_contracts.rpc import GetStatus, Problem, ProblemCode, ProblemDetails
from assay_gateway.use_cases.records import RECORDS_TIMEOUT_S
from assay_testkit.gateway.running import ADMIN_TOKEN, running_gateway
from assay_testkit.gateway.samples import WARNING
from assay_testkit.gateway.services import Records
from assay_testkit.servers import RunningNats

pytestmark = pytest.mark.asyncio(loop_scope="module")

STATUSES: dict[ProblemCode, int] = {
    "UNAUTHORIZED": 401,
    "FORBIDDEN": 403,
    "NOT_FOUND": 404,
    "SKILL_NOT_FOUND": 404,
    "IMAGE_NOT_FOUND": 404,
    "FULL_TEST_NOT_FOUND": 404,
    "METHOD_NOT_ALLOWED": 405,
    "VALIDATION_TIMEOUT": 408,
    "SKILL_ALREADY_EXISTS": 409,
    "VALIDATION_IN_PROGRESS": 409,
    "REQUEST_IN_PROGRESS": 409,
    "INVALID_SKILL_FORMAT": 400,
    "INVALID_ZIP": 400,
    "INVALID_STATUS_TRANSITION": 400,
    "VALIDATION_NOT_COMPLETED": 400,
    "REGRESSION_FAILED": 400,
    "FILE_TOO_LARGE": 413,
    "INVALID_REQUEST": 422,
    "RATE_LIMITED": 429,
    "DEPENDENCY_INSTALL_FAILED": 500,
    "VALIDATION_ERROR": 500,
    "SERVICE_UNAVAILABLE": 503,
}


def assert_problem(answer: httpx.Response, status: int, code: ProblemCode) -> dict[str, object]:
    """Check shape, status and code; returns the details."""
    body = answer.json()
    assert set(body) == {"code", "message", "details"}
    assert (answer.status_code, body["code"]) == (status, code)
    assert body["message"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    details = body["details"]
    assert isinstance(details, dict)
    return details


async def test_each_refusal_of_a_service_has_its_status(
    client: httpx.AsyncClient, records: Records
) -> None:
    assert set(STATUSES) == set(get_args(ProblemCode))
    for code, status in STATUSES.items():
        records.refusal = Problem(code=code, message="why, and what to do")

        answer = await client.get(f"/api/admin/skills/{uuid4()}")

        assert assert_problem(answer, status, code) == {}
        assert answer.json()["message"] == "why, and what to do"


async def test_details_hold_what_applies_and_nothing_else(
    client: httpx.AsyncClient, records: Records
) -> None:
    owner = uuid4()
    records.refusal = Problem(
        code="SKILL_ALREADY_EXISTS",
        message="taken",
        details=ProblemDetails(skill_id=owner, findings=(WARNING,)),
    )

    answer = await client.get("/api/admin/skills")

    assert assert_problem(answer, 409, "SKILL_ALREADY_EXISTS") == {
        "skill_id": str(owner),
        "findings": [
            {
                "code": "no-requirements",
                "severity": "warning",
                "message": "No requirements.txt.",
                "fix": "Add one.",
            }
        ],
    }


@pytest.mark.parametrize("path", ["/api", "/api/admin", "/api/admin/skills/", "/docs"])
async def test_an_unknown_route(client: httpx.AsyncClient, path: str) -> None:
    assert_problem(await client.get(path), 404, "NOT_FOUND")


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/api/admin/skills", {"GET"}),
        (f"/api/admin/skills/{UUID(int=7)}", {"DELETE", "GET"}),
        ("/api/openapi.json", {"GET", "HEAD"}),
        ("/livez", {"GET", "HEAD"}),
    ],
)
async def test_a_method_that_is_not_possible(
    client: httpx.AsyncClient, path: str, allowed: set[str]
) -> None:
    answer = await client.put(path)

    assert_problem(answer, 405, "METHOD_NOT_ALLOWED")
    assert set(answer.headers["Allow"].split(", ")) == allowed


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/api/admin/skills/not-an-id/validation-status", "path.skill_id: "),
        ("/api/admin/skills/not-an-id/events", "path.skill_id: "),
        ("/api/admin/skills/not-an-id/report", "path.skill_id: "),
        ("/api/admin/skills?status=lost", "query.status: "),
        ("/api/admin/skills?validation_stage=layer3", "query.validation_stage: "),
        ("/api/admin/skills?page=0", "query.page: "),
        ("/api/admin/skills?page=99999999999999999999", "query.page: "),
        ("/api/admin/skills?size=101", "query.size: "),
        ("/api/admin/skills?size=ten", "query.size: "),
        ("/api/admin/skills?q=%00", "query.q: "),
        (f"/api/admin/skills?q={'x' * 201}", "query.q: "),
    ],
)
async def test_an_invalid_request_names_the_field(
    client: httpx.AsyncClient, path: str, field: str
) -> None:
    details = assert_problem(await client.get(path), 422, "INVALID_REQUEST")

    fields = details["fields"]
    assert isinstance(fields, list)
    (named,) = fields
    assert named.startswith(field)


async def test_every_wrong_field_is_named(client: httpx.AsyncClient) -> None:
    answer = await client.get("/api/admin/skills?size=0&page=0")

    fields = assert_problem(answer, 422, "INVALID_REQUEST")["fields"]
    assert isinstance(fields, list)
    assert [field.partition(":")[0] for field in fields] == ["query.page", "query.size"]


@asynccontextmanager
async def answering(nats_server: RunningNats, reply: bytes | None) -> AsyncIterator[None]:
    """Hear questions for a status, and answer with these bytes or not at all."""
    connection = await nats.connect(nats_server.url("scorer"))

    async def answer(question: Msg) -> None:
        if reply is not None:
            await question.respond(reply)

    await connection.subscribe(GetStatus.SUBJECT, cb=answer)
    await connection.flush()
    try:
        yield
    finally:
        await connection.close()


async def test_a_defect_shows_nothing_but_where_to_look(
    client: httpx.AsyncClient, nats_server: RunningNats
) -> None:
    with capture_logs() as logs:
        async with answering(nats_server, b"garbage from inside"):
            answer = await client.get(f"/api/admin/skills/{uuid4()}/validation-status")

    details = assert_problem(answer, 500, "VALIDATION_ERROR")
    assert list(details) == ["error_id"]
    assert "garbage" not in answer.text
    assert "Traceback" not in answer.text
    (defect,) = [entry for entry in logs if entry["event"] == "defect"]
    assert defect["error_id"] == details["error_id"]
    assert defect["exc_info"]


@pytest.mark.parametrize("route", ["", "/{id}", "/{id}/validation-status", "/{id}/events"])
async def test_reads_without_a_scorer(client: httpx.AsyncClient, route: str) -> None:
    started = time.monotonic()

    answer = await client.get(f"/api/admin/skills{route.format(id=uuid4())}")

    assert_problem(answer, 503, "SERVICE_UNAVAILABLE")
    assert "scorer" in answer.json()["message"]
    assert int(answer.headers["Retry-After"]) > 0
    assert time.monotonic() - started < 3


async def test_a_scorer_that_hears_and_does_not_answer(
    client: httpx.AsyncClient, nats_server: RunningNats, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert RECORDS_TIMEOUT_S < 8
    monkeypatch.setattr("assay_gateway.use_cases.records.RECORDS_TIMEOUT_S", 0.2)
    async with answering(nats_server, None):
        started = time.monotonic()
        answer = await client.get(f"/api/admin/skills/{uuid4()}/validation-status")

    assert_problem(answer, 503, "SERVICE_UNAVAILABLE")
    assert time.monotonic() - started < 3


async def test_a_bus_that_is_gone_and_comes_back(
    fresh_nats_server: RunningNats, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
    async with (
        running_gateway(fresh_nats_server.url("gateway")) as url,
        httpx.AsyncClient(base_url=url, headers=headers, timeout=20) as client,
    ):
        fresh_nats_server.stop()
        with monkeypatch.context() as impatient:
            impatient.setattr("assay_gateway.use_cases.records.RECORDS_TIMEOUT_S", 0.2)
            impatient.setattr("assay_gateway.use_cases.uploads.SUBMIT_TIMEOUT_S", 0.2)
            for answer in await asyncio.gather(
                client.get("/api/admin/skills"),
                client.post("/api/admin/skills/upload", files={"file": ("a.zip", b"PK")}),
            ):
                assert_problem(answer, 503, "SERVICE_UNAVAILABLE")
        assert (await client.get("/livez")).status_code == 200

        fresh_nats_server.start()
        async with Records(fresh_nats_server.url("scorer")):
            assert (await client.get("/api/admin/skills")).status_code == 200
