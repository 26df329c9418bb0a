"""Upload, list, detail and status, as a client sees them."""

from uuid import UUID, uuid4

import httpx
import pytest

from assay_contracts.rpc import GetStatus, IngestSubmit, ListSkills
from assay_testkit.gateway.samples import WARNING, sample_detail, sample_status
from assay_testkit.gateway.services import Ingest, Records

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_upload_hands_the_file_to_ingest_and_says_what_became_of_it(
    client: httpx.AsyncClient, ingest: Ingest
) -> None:
    answer = await client.post("/api/admin/skills/upload", files={"file": ("a.zip", b"PK zip")})

    assert answer.status_code == 200
    body = answer.json()
    assert UUID(body.pop("skill_id")) != UUID(body.pop("validation_id"))
    assert body == {
        "name": "csv-analyzer",
        "status": "pending",
        "format_valid": True,
        "format_errors": [],
        "format_warnings": ["No requirements.txt."],
        "findings": [WARNING.model_dump()],
        "revision": 1,
        "same_as_revision": None,
        "message": "Skill uploaded, validation started",
    }
    assert ingest.received == [b"PK zip"]
    (submitted,) = ingest.asked
    assert isinstance(submitted, IngestSubmit)
    assert (submitted.filename, submitted.uploaded_by) == ("a.zip", "admin")


async def test_list_passes_every_filter_on(client: httpx.AsyncClient, records: Records) -> None:
    detail = sample_detail(uuid4())
    records.details[detail.skill_id] = detail

    answer = await client.get(
        "/api/admin/skills",
        params={
            "status": "pending",
            "validation_stage": "completed",
            "q": "表 csv",
            "page": 2,
            "size": 7,
        },
    )

    assert answer.status_code == 200
    body = answer.json()
    assert {key: body[key] for key in ("total", "page", "size")} == {
        "total": 1,
        "page": 2,
        "size": 7,
    }
    assert body["skills"][0]["skill_id"] == str(detail.skill_id)
    assert body["skills"][0]["validation_score"] == 87.5
    (asked,) = records.asked
    assert isinstance(asked, ListSkills)
    assert (asked.status, asked.validation_stage, asked.q) == ("pending", "completed", "表 csv")


async def test_list_has_defaults(client: httpx.AsyncClient, records: Records) -> None:
    body = (await client.get("/api/admin/skills")).json()

    assert body == {"skills": [], "total": 0, "page": 1, "size": 20}


async def test_detail_shows_the_record_and_the_format_check(
    client: httpx.AsyncClient, records: Records
) -> None:
    detail = sample_detail(uuid4())
    records.details[detail.skill_id] = detail

    answer = await client.get(f"/api/admin/skills/{detail.skill_id}")

    assert answer.status_code == 200
    body = answer.json()
    assert body["skill_id"] == str(detail.skill_id)
    assert body["verdict"] == "passed"
    assert body["manifest"]["name"] == "csv-analyzer"
    assert body["format_valid"] is True
    assert body["format_errors"] == []
    assert body["format_warnings"] == ["No requirements.txt."]


async def test_status_shows_how_far_the_validation_has_come(
    client: httpx.AsyncClient, records: Records
) -> None:
    status = sample_status(uuid4(), "layer1", tasks_done=2)
    records.statuses[status.skill_id] = status

    answer = await client.get(f"/api/admin/skills/{status.skill_id}/validation-status")

    assert answer.status_code == 200
    assert answer.json() == status.model_dump(mode="json")
    assert [type(question) for question in records.asked] == [GetStatus]


async def test_answers_are_neither_sniffed_nor_kept(
    client: httpx.AsyncClient, records: Records
) -> None:
    listed = await client.get("/api/admin/skills")
    alive = await client.get("/livez")

    assert listed.headers["X-Content-Type-Options"] == "nosniff"
    assert listed.headers["Cache-Control"] == "no-store"
    assert alive.headers["X-Content-Type-Options"] == "nosniff"
    assert "Cache-Control" not in alive.headers


async def test_the_history_is_asked_for_page_by_page(
    client: httpx.AsyncClient, records: Records
) -> None:
    detail = sample_detail(uuid4())
    records.details[detail.skill_id] = detail
    path = f"/api/admin/skills/{detail.skill_id}/validations"
    answer = await client.get(path, params={"page": 2, "size": 7})
    assert answer.status_code == 200
    assert answer.json() == {"validations": [], "total": 0, "page": 2, "size": 7}
    unknown = await client.get(f"/api/admin/skills/{uuid4()}/validations")
    assert unknown.status_code == 404
