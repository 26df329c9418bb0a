"""Review and runtime versions, as a client sees them."""

from collections.abc import AsyncIterator
from uuid import uuid4

import httpx
import pytest

from assay_contracts.review import (
    ApproveSkill,
    CancelValidation,
    DeleteSkill,
    ListAudit,
    RejectSkill,
    RevalidateSkill,
    SkillAction,
)
from assay_contracts.rpc import Problem, ProblemCode, ProblemDetails
from assay_contracts.runtime import RollbackRuntime
from assay_gateway.adapters.http.body_limit import MAX_BODY_BYTES
from assay_gateway.domain.problem_status import HTTP_STATUS
from assay_testkit.gateway.services import Records

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize(
    ("what", "question", "answer"),
    [
        ("POST /approve", ApproveSkill, {"runtime_image_version": "v1.3"}),
        ("POST /reject", RejectSkill, {"reject_reason": "No."}),
        ("DELETE ", DeleteSkill, {"status": "deleted"}),
        ("POST /validate", RevalidateSkill, {"validation_stage": "queued"}),
        ("POST /revalidate", RevalidateSkill, {"validation_stage": "queued"}),
        ("POST /cancel", CancelValidation, {"message": "Validation cancelled"}),
    ],
)
async def test_an_action_is_asked_for_in_the_name_of_the_caller(
    client: httpx.AsyncClient,
    records: Records,
    what: str,
    question: type[SkillAction],
    answer: dict[str, str],
) -> None:
    skill_id = uuid4()
    method, path = what.split(" ")
    body = {"reason": "No."} if path == "/reject" else None
    response = await client.request(method, f"/api/admin/skills/{skill_id}{path}", json=body)
    assert response.status_code == 200
    assert response.json().items() >= {"skill_id": str(skill_id), **answer}.items()
    (asked,) = records.asked
    assert isinstance(asked, question)
    assert (asked.skill_id, asked.actor) == (skill_id, "admin")


@pytest.mark.parametrize(("code", "status"), HTTP_STATUS.items())
async def test_a_refusal_says_what_is_allowed(
    client: httpx.AsyncClient, records: Records, code: ProblemCode, status: int
) -> None:
    records.refusal = Problem(
        code=code,
        message="Not now.",
        details=ProblemDetails(allowed=("delete",), failed_skills=("beta",)),
    )
    response = await client.post(f"/api/admin/skills/{uuid4()}/approve")
    assert response.status_code == status
    assert response.json() == {
        "code": code,
        "message": "Not now.",
        "details": {"allowed": ["delete"], "failed_skills": ["beta"]},
    }


@pytest.mark.parametrize(
    "body",
    [
        None,
        {},
        {"reason": ""},
        {"reason": "x" * 2001},
        {"reason": " \n\t\u3000"},
        {"reason": "No\x00."},
        {"reason": "\x00"},
    ],
)
async def test_a_rejection_needs_a_reason(
    client: httpx.AsyncClient, records: Records, body: dict[str, str] | None
) -> None:
    response = await client.post(f"/api/admin/skills/{uuid4()}/reject", json=body)
    assert response.status_code == 422
    assert response.json()["code"] == "INVALID_REQUEST"
    assert records.asked == []


async def test_a_reason_may_have_lines(client: httpx.AsyncClient, records: Records) -> None:
    reason = "\n No.\nNot yet.\n"
    response = await client.post(f"/api/admin/skills/{uuid4()}/reject", json={"reason": reason})
    assert response.status_code == 200
    (asked,) = records.asked
    assert isinstance(asked, RejectSkill)
    assert asked.reason == reason


@pytest.mark.parametrize("kind", ["application/json", "multipart/form-data; boundary=x"])
async def test_a_body_is_not_read_without_end(
    client: httpx.AsyncClient, records: Records, kind: str
) -> None:
    async def body() -> AsyncIterator[bytes]:
        yield b'{"reason": "'
        for _ in range(MAX_BODY_BYTES // 1024):
            yield b"x" * 1024

    response = await client.post(
        f"/api/admin/skills/{uuid4()}/reject", content=body(), headers={"Content-Type": kind}
    )
    assert (response.status_code, response.json()["code"]) == (413, "FILE_TOO_LARGE")
    assert records.asked == []


async def test_images_are_listed(client: httpx.AsyncClient, records: Records) -> None:
    body = (await client.get("/api/admin/images")).json()
    assert (body["current_version"], body["total"]) == ("v1.0", 1)
    assert body["versions"][0]["is_current"] is True


async def test_a_rollback_tells_whom_it_affects(
    client: httpx.AsyncClient, records: Records
) -> None:
    response = await client.post("/api/admin/images/rollback", json={"target_version": "v1.2"})
    assert response.status_code == 200
    body = response.json()
    assert (body["previous_version"], body["current_version"]) == ("v1.3", "v1.2")
    assert body["affected_skills"] == ["csv-analyzer"]
    assert "1 skill marked as rollback_pending" in body["message"]
    (asked,) = records.asked
    assert isinstance(asked, RollbackRuntime)
    assert (asked.target_version, asked.actor) == ("v1.2", "admin")


async def test_a_rollback_is_shown_before_it_is_done(
    client: httpx.AsyncClient, records: Records
) -> None:
    response = await client.get("/api/admin/images/v1.2/rollback-preview")
    assert response.status_code == 200
    assert response.json() == {
        "current_version": "v1.3",
        "target_version": "v1.2",
        "affected_skills": ["csv-analyzer"],
        "restored_skills": [],
    }
    (asked,) = records.asked
    assert isinstance(asked, RollbackRuntime)
    assert asked.dry_run


@pytest.mark.parametrize("version", ["", "1.2", "v2.0", "v1.x", "v1.01"])
async def test_a_version_that_cannot_be_is_refused(
    client: httpx.AsyncClient, records: Records, version: str
) -> None:
    response = await client.post("/api/admin/images/rollback", json={"target_version": version})
    assert response.status_code == 422
    assert records.asked == []


async def test_the_audit_log_is_paged_and_filtered(
    client: httpx.AsyncClient, records: Records
) -> None:
    skill_id = uuid4()
    response = await client.get(
        "/api/admin/audit", params={"skill_id": str(skill_id), "page": 2, "size": 7}
    )
    assert response.status_code == 200
    (asked,) = records.asked
    assert isinstance(asked, ListAudit)
    assert (asked.skill_id, asked.page, asked.size) == (skill_id, 2, 7)


async def test_a_key_goes_along_and_is_the_callers_own(
    client: httpx.AsyncClient, records: Records
) -> None:
    url = f"/api/admin/skills/{uuid4()}/approve"
    for key in ("one", "one", "two"):
        answer = await client.post(url, headers={"Idempotency-Key": key})
        assert answer.status_code == 200
    keys = [each.idempotency_key for each in records.asked if isinstance(each, ApproveSkill)]
    assert keys[0] == keys[1] != keys[2]
    assert "one" not in str(keys[0])
    for bad in ("", "x" * 201, "a b"):
        answer = await client.post(url, headers={"Idempotency-Key": bad})
        assert (answer.status_code, answer.json()["code"]) == (422, "INVALID_REQUEST")
