"""The report as it was stored, in the form that is asked for."""

from uuid import UUID, uuid4

import httpx
import pytest
import pytest_asyncio

from assay_contracts.rpc import Problem
from assay_contracts.validations import ReportRef
from assay_gateway.testing import Records

pytestmark = pytest.mark.asyncio(loop_scope="module")

JSON = b'{"skill_name": "csv-analyzer", "verdict": "passed"}'
MARKDOWN = "# csv-analyzer 通过\n".encode()


@pytest_asyncio.fixture(loop_scope="module")
async def skill_id(records: Records) -> UUID:
    skill_id = uuid4()
    ref = ReportRef(url="/x", json_key=f"{skill_id}.json", markdown_key=f"{skill_id}.md")
    await records.bus.objects.put("reports", ref.json_key, JSON)
    await records.bus.objects.put("reports", ref.markdown_key, MARKDOWN)
    records.reports[skill_id] = ref
    return skill_id


@pytest.mark.parametrize(
    ("accept", "content", "content_type"),
    [
        (None, JSON, "application/json"),
        ("*/*", JSON, "application/json"),
        ("text/markdown", MARKDOWN, "text/markdown; charset=utf-8"),
        ("text/*;q=0.9, application/json;q=0.1", MARKDOWN, "text/markdown; charset=utf-8"),
        ("image/png", JSON, "application/json"),
    ],
    ids=["no header", "anything", "Markdown", "rather text", "something else"],
)
async def test_report(
    client: httpx.AsyncClient, skill_id: UUID, accept: str | None, content: bytes, content_type: str
) -> None:
    headers = {} if accept is None else {"Accept": accept}

    answer = await client.get(f"/api/admin/skills/{skill_id}/report", headers=headers)

    assert answer.status_code == 200
    assert answer.content == content
    assert answer.headers["Content-Type"] == content_type
    assert answer.headers["Vary"] == "Accept"


async def test_a_report_that_is_not_there_yet(client: httpx.AsyncClient, records: Records) -> None:
    records.refusal = Problem(code="VALIDATION_NOT_COMPLETED", message="Not yet; try later.")

    answer = await client.get(f"/api/admin/skills/{uuid4()}/report")

    assert answer.status_code == 400
    assert answer.json()["code"] == "VALIDATION_NOT_COMPLETED"
