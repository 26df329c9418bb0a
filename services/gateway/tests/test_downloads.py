"""Reports in the form that is asked for, traces and bundles, over a real connection."""

from uuid import UUID, uuid4

import httpx
import pytest
import pytest_asyncio
from pydantic import SecretStr

from assay_contracts.reports import Report
from assay_contracts.rpc import Problem
from assay_contracts.skills import BundleRef
from assay_contracts.validations import ReportRef
from assay_servicekit.bus import Bus
from assay_servicekit.settings import ServiceSettings
from assay_testkit.gateway.services import Ingest, Records
from assay_testkit.reports import sample_report
from assay_testkit.servers import RunningNats

pytestmark = pytest.mark.asyncio(loop_scope="module")

MARKDOWN = "# csv-analyzer 通过\n".encode()
FORMS = {
    "json": "application/json",
    "markdown": "text/markdown; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "junit": "application/xml",
}


async def keep(records: Records, key: UUID) -> Report:
    """A report, found by the id of a skill or of an older validation."""
    report = sample_report()
    ref = ReportRef(url="/x", json_key=f"{key}.json", markdown_key=f"{key}.md")
    await records.bus.objects.put("reports", ref.json_key, report.model_dump_json().encode())
    await records.bus.objects.put("reports", ref.markdown_key, MARKDOWN)
    records.reports[key] = ref
    return report


@pytest_asyncio.fixture(loop_scope="module")
async def skill_id(records: Records) -> UUID:
    skill_id = uuid4()
    await keep(records, skill_id)
    return skill_id


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        (None, "json"),
        ("*/*", "json"),
        ("text/markdown", "markdown"),
        ("text/*;q=0.9, application/json;q=0.1", "markdown"),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "html"),
        ("application/xml", "junit"),
        ("image/png", "json"),
    ],
    ids=["no header", "anything", "Markdown", "rather text", "a browser", "XML", "something else"],
)
async def test_the_form_is_chosen_by_accept(
    client: httpx.AsyncClient, skill_id: UUID, accept: str | None, form: str
) -> None:
    headers = {} if accept is None else {"Accept": accept}
    answer = await client.get(f"/api/admin/skills/{skill_id}/report", headers=headers)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == FORMS[form]
    assert answer.headers["Vary"] == "Accept, Accept-Language"


@pytest.mark.parametrize(
    ("asked", "header", "language"),
    [
        ("", "", "en"),
        ("", "zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("", "en-GB,zh;q=0.5", "en"),
        ("", "fr, de", "en"),
        ("&language=zh", "en", "zh"),
        ("&language=en", "zh", "en"),
    ],
)
async def test_the_reader_chooses_the_language(
    client: httpx.AsyncClient, skill_id: UUID, asked: str, header: str, language: str
) -> None:
    headers = {"Accept-Language": header}
    url = f"/api/admin/skills/{skill_id}/report?format="
    markdown = await client.get(f"{url}markdown{asked}", headers=headers)
    page = await client.get(f"{url}html{asked}", headers=headers)
    assert ("## 评分" in markdown.text) == (language == "zh")
    assert f'<html lang="{"zh-Hans" if language == "zh" else "en"}">' in page.text


async def test_what_was_not_signed_has_no_attestation(
    client: httpx.AsyncClient, skill_id: UUID
) -> None:
    answer = await client.get(f"/api/admin/skills/{skill_id}/report?format=attestation")
    assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")
    assert "ASSAY_SIGNING_KEY_FILE" in answer.json()["message"]


@pytest.mark.parametrize("form", FORMS)
async def test_every_form_is_known_again_and_can_be_asked_about(
    client: httpx.AsyncClient, skill_id: UUID, form: str
) -> None:
    url = f"/api/admin/skills/{skill_id}/report?format={form}"
    answer = await client.get(url, headers={"Accept": "image/png"})
    head = await client.head(url)
    known = await client.get(url, headers={"If-None-Match": f'"x", {answer.headers["ETag"]}'})
    other = await client.get(url, headers={"If-None-Match": '"x"'})

    assert answer.headers["Content-Type"] == FORMS[form]
    assert answer.headers["Content-Disposition"].startswith('inline; filename="report-')
    assert not answer.headers["ETag"].startswith("W/")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["Content-Length"] == str(len(answer.content))
    assert (known.status_code, known.content) == (304, b"")
    assert (other.status_code, other.content) == (200, answer.content)


async def test_the_page_may_load_nothing(client: httpx.AsyncClient, skill_id: UUID) -> None:
    answer = await client.get(f"/api/admin/skills/{skill_id}/report?format=html")
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")
    assert "sandbox" in policy
    assert "csv-analyzer 通过" in answer.text


async def test_the_report_of_an_older_validation(
    client: httpx.AsyncClient, records: Records, skill_id: UUID
) -> None:
    validation_id = uuid4()
    report = await keep(records, validation_id)
    url = f"/api/admin/skills/{skill_id}/validations/{validation_id}/report"
    assert Report.model_validate_json((await client.get(url)).content) == report
    assert (await client.get(url, params={"format": "markdown"})).content == MARKDOWN


async def test_a_report_that_is_not_there_yet(client: httpx.AsyncClient, records: Records) -> None:
    records.refusal = Problem(code="VALIDATION_NOT_COMPLETED", message="Not yet; try later.")
    answer = await client.get(f"/api/admin/skills/{uuid4()}/report")
    assert answer.status_code == 400
    assert answer.json()["code"] == "VALIDATION_NOT_COMPLETED"


async def test_an_unknown_form(client: httpx.AsyncClient, skill_id: UUID) -> None:
    answer = await client.get(f"/api/admin/skills/{skill_id}/report?format=pdf")
    assert (answer.status_code, answer.json()["code"]) == (422, "INVALID_REQUEST")


async def test_traces_are_listed_and_read(
    client: httpx.AsyncClient, nats_server: RunningNats, skill_id: UUID
) -> None:
    trace = b'{"task_id": "t1"}' + b" " * 3_000_000
    runner = Bus(
        ServiceSettings(nats_url=SecretStr(nats_server.url("sandbox-runner"))), "sandbox-runner"
    )
    await runner.connect()
    await runner.objects.put("traces", "trace-1", trace)
    await runner.stop()
    listed = (await client.get(f"/api/admin/skills/{skill_id}/traces")).json()["traces"]
    assert [(each["run"], each["task_id"], each["commands"]) for each in listed] == [
        ("online", "t1", 3)
    ]

    read = await client.get(f"/api/admin/skills/{skill_id}/traces/online/t1")
    assert (read.status_code, read.headers["Content-Type"]) == (200, "application/json")
    assert read.content == trace


@pytest.mark.parametrize(
    ("path", "status"), [("offline/t1", 404), ("online/t9", 404), ("sideways/t1", 422)]
)
async def test_a_trace_that_there_is_not(
    client: httpx.AsyncClient, skill_id: UUID, path: str, status: int
) -> None:
    answer = await client.get(f"/api/admin/skills/{skill_id}/traces/{path}")
    assert answer.status_code == status


async def test_a_bundle(client: httpx.AsyncClient, records: Records, ingest: Ingest) -> None:
    skill_id, content = uuid4(), b"PK" * 2_000_000
    bundle = BundleRef(key=f"{skill_id}", sha256="ab" * 32, size=len(content))
    await ingest.bus.objects.put("bundles", bundle.key, content)
    records.bundles[skill_id] = bundle
    url = f"/api/admin/skills/{skill_id}/bundle"

    answer = await client.get(url)
    head = await client.head(url)
    known = await client.get(url, headers={"If-None-Match": answer.headers["ETag"]})

    assert answer.content == content
    assert answer.headers["Content-Type"] == "application/zip"
    assert answer.headers["ETag"] == f'"{bundle.sha256}"'
    filename = 'attachment; filename="csv-analyzer-2.zip"'
    assert answer.headers["Content-Disposition"] == filename
    assert head.headers["Content-Length"] == str(len(content))
    assert (head.headers["Content-Disposition"], head.content) == (filename, b"")
    assert (known.status_code, known.content) == (304, b"")


async def test_what_is_not_kept_any_more(client: httpx.AsyncClient, records: Records) -> None:
    skill_id = uuid4()
    records.bundles[skill_id] = BundleRef(key="gone", sha256="cd" * 32, size=1)
    answer = await client.get(f"/api/admin/skills/{skill_id}/bundle")
    assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")
