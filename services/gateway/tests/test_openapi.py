"""The OpenAPI document says what really happens."""

import json
import re
from typing import Any

import httpx
import pytest
import pytest_asyncio

Document = dict[str, Any]
"""JSON of any depth: a test that reads a field that is not there fails."""

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module")
async def document(gateway: str) -> Document:
    async with httpx.AsyncClient(base_url=gateway) as client:
        document: Document = (await client.get("/api/openapi.json")).json()
        return document


def operations(document: Document) -> list[tuple[str, Document]]:
    return [
        (f"{method} {path}", operation)
        for path, item in document["paths"].items()
        for method, operation in item.items()
    ]


async def test_every_operation_shows_its_refusals_in_our_shape(document: Document) -> None:
    for name, operation in operations(document):
        refusals = {s: r for s, r in operation["responses"].items() if s > "399"}
        assert {"401", "403", "422", "429", "500", "503"} <= set(refusals), name
        for response in refusals.values() if not name.startswith("head ") else ():
            schema = response["content"]["application/json"]["schema"]
            assert schema == {"$ref": "#/components/schemas/Problem"}, name
    assert "HTTPValidationError" not in json.dumps(document)
    assert set(document["components"]["schemas"]["Problem"]["properties"]) == {
        "code",
        "message",
        "details",
    }


async def test_every_operation_needs_the_token_and_has_a_name_of_its_own(
    document: Document,
) -> None:
    assert all(operation["security"] == [{"admin": []}] for _, operation in operations(document))
    (scheme,) = document["components"]["securitySchemes"].values()
    assert (scheme["type"], scheme["scheme"], scheme["bearerFormat"]) == ("http", "bearer", "JWT")
    assert [operation["operationId"] for _, operation in operations(document)] == [
        "upload_skill",
        "list_skills",
        "get_skill",
        "delete_skill",
        "get_validation_status",
        "list_validations",
        "start_full_test",
        "list_full_tests",
        "get_full_test",
        "cancel_full_test",
        "follow_validation",
        "follow_full_test",
        "follow_facts",
        "get_report",
        "head_report",
        "get_validation_report",
        "head_validation_report",
        "list_traces",
        "get_trace",
        "get_bundle",
        "head_bundle",
        "approve_skill",
        "reject_skill",
        "validate_skill",
        "revalidate_skill",
        "cancel_validation",
        "list_audit",
        "list_images",
        "preview_rollback",
        "roll_back",
    ]


async def test_what_goes_in_and_comes_out(document: Document) -> None:
    paths = document["paths"]
    upload = paths["/api/admin/skills/upload"]["post"]
    events = paths["/api/admin/skills/{skill_id}/events"]["get"]
    report = paths["/api/admin/skills/{skill_id}/report"]["get"]

    body = upload["requestBody"]["content"]["multipart/form-data"]["schema"]
    assert body["required"] == ["file"]
    assert {"400", "409", "413"} <= set(upload["responses"])
    assert list(events["responses"]["200"]["content"]) == ["text/event-stream"]
    assert set(report["responses"]["200"]["content"]) == {
        "application/json",
        "text/markdown",
        "text/html",
        "application/xml",
        "application/vnd.dsse.envelope.v1+json",
    }


async def test_bodies_are_shown_with_their_bounds(document: Document) -> None:
    for name, operation in operations(document):
        assert ("413" in operation["responses"]) == ("requestBody" in operation), name
    reject = document["paths"]["/api/admin/skills/{skill_id}/reject"]["post"]
    body = reject["requestBody"]["content"]["application/json"]["schema"]
    reason = document["components"]["schemas"][body["$ref"].split("/")[-1]]["properties"]["reason"]
    assert (reason["minLength"], reason["maxLength"]) == (1, 2000)
    assert re.search(reason["pattern"], "No.")
    assert not re.search(reason["pattern"], " \n")
    assert not re.search(reason["pattern"], "a\x00b")


async def test_whatever_changes_something_takes_a_key(document: Document) -> None:
    for name, operation in operations(document):
        taken = {each["name"] for each in operation.get("parameters", ())}
        assert ("Idempotency-Key" in taken) == name.startswith(("post ", "delete ")), name


async def test_no_parameter_can_be_null(document: Document) -> None:
    for name, operation in operations(document):
        for parameter in operation.get("parameters", ()):
            assert "null" not in json.dumps(parameter["schema"]), name
