"""Full tests, as a client sees them."""

import json
from uuid import uuid4

import httpx
import pytest

from assay_contracts.full_tests import CancelFullTest, ListFullTests, StartFullTest
from assay_contracts.rpc import Problem, ProblemDetails
from assay_testkit.gateway.samples import sample_full_test, sample_status
from assay_testkit.gateway.services import Records

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_one_is_started_shown_listed_and_cancelled(
    client: httpx.AsyncClient, records: Records
) -> None:
    started = await client.post("/api/admin/skills/full-test")
    full_test_id = started.json()["full_test_id"]
    shown = await client.get(f"/api/admin/full-tests/{full_test_id}")
    listed = await client.get("/api/admin/full-tests", params={"page": 1, "size": 7})
    cancelled = await client.post(f"/api/admin/full-tests/{full_test_id}/cancel")

    assert (started.status_code, started.json()["started_by"]) == (200, "admin")
    assert shown.json() == started.json()
    assert [each["full_test_id"] for each in listed.json()["full_tests"]] == [full_test_id]
    assert "skills" not in listed.json()["full_tests"][0]
    assert cancelled.json()["status"] == "cancelled"
    first, _, listing, last = records.asked
    assert isinstance(first, StartFullTest)
    assert first.actor == "admin"
    assert isinstance(listing, ListFullTests)
    assert listing.size == 7
    assert isinstance(last, CancelFullTest)
    assert last.actor == "admin"


async def test_a_second_one_is_refused_with_the_id_of_the_first(
    client: httpx.AsyncClient, records: Records
) -> None:
    under_way = uuid4()
    records.refusal = Problem(
        code="VALIDATION_IN_PROGRESS",
        message="A full test is under way. Wait for it, or cancel it.",
        details=ProblemDetails(full_test_id=under_way),
    )
    answer = await client.post("/api/admin/skills/full-test")
    assert answer.status_code == 409
    assert answer.json()["details"] == {"full_test_id": str(under_way)}


@pytest.mark.parametrize("what", ["GET ", "GET /events", "POST /cancel"])
async def test_an_unknown_one(client: httpx.AsyncClient, records: Records, what: str) -> None:
    method, path = what.split(" ")
    answer = await client.request(method, f"/api/admin/full-tests/{uuid4()}{path}")
    assert (answer.status_code, answer.json()["code"]) == (404, "FULL_TEST_NOT_FOUND")


async def test_it_is_followed_until_its_end(client: httpx.AsyncClient, records: Records) -> None:
    running = sample_full_test()
    ended = running.model_copy(update={"status": "completed", "completed_at": running.started_at})
    records.full_tests[running.full_test_id] = running
    url = f"/api/admin/full-tests/{running.full_test_id}/events"
    seen = []

    async with client.stream("GET", url, timeout=15) as response:
        async for line in response.aiter_lines():
            if line.startswith("data: "):
                seen.append(json.loads(line.removeprefix("data: "))["status"])
                records.full_tests[running.full_test_id] = ended
                await records.progress(sample_status(running.skills[1].skill_id))

    assert seen == ["running", "completed"]
