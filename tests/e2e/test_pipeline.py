"""Skills through the whole of Assay, by its REST API and its bus."""

import asyncio
import json
from collections.abc import Callable
from typing import TYPE_CHECKING
from uuid import uuid4

import httpx
import nats
import pytest
from httpx_sse import aconnect_sse

from assay_contracts.rpc import SkillStatusView
from assay_contracts.topology import FACTS, JETSTREAM_PREFIX
from assay_skillkit.attestation import verify_attestation
from assay_testkit.waiting import until

if TYPE_CHECKING:
    from tests.e2e.conftest import Admin

pytestmark = pytest.mark.asyncio(loop_scope="session")
Zip = Callable[[str], bytes]


async def test_a_good_skill_passes_and_everybody_hears_of_it_once(
    admin: "Admin", example: Zip
) -> None:
    skill_id = await admin.submit(example("csv-analyzer"))
    status = await admin.ended(skill_id)
    assert (status.verdict, status.status) == ("passed", "pending")

    (completed,) = await admin.completions(skill_id)
    assert completed.verdict == "passed"
    assert completed.skill_name == "csv-analyzer"
    assert completed.scores is not None
    assert completed.scores.overall >= 70
    assert completed.models == ("rehearsal:1",)
    assert completed.timings.command_seconds > 0

    report = await admin.report(skill_id)
    assert report.scores == completed.scores
    assert report.bundle_sha256 == completed.bundle_sha256
    assert [run.kind for run in report.runs] == ["online", "offline"]
    assert [len(run.grades) for run in report.runs] == [3, 3]
    offline = report.runs[1]
    assert offline.network_calls == ()
    assert offline.sandbox is not None
    assert offline.sandbox.network == "blocked"
    assert all(
        "csv-analyzer" not in task.prompt and "csv analyzer" not in task.prompt.lower()
        for task in report.tasks
    )
    markdown = await admin.markdown(skill_id)
    assert markdown.startswith("# PASSED: csv-analyzer")
    assert "No LLM took part" in markdown


async def test_the_report_lies_where_the_message_says(admin: "Admin", example: Zip) -> None:
    listed = (await admin.http.get("/api/admin/skills?q=csv-analyzer")).json()
    skill_id = listed["skills"][0]["skill_id"]
    completed = next(c for c in admin.completed if str(c.skill_id) == skill_id)
    answer = await admin.http.get(completed.report.url)
    assert answer.json()["validation_id"] == str(completed.validation_id)

    signed = await admin.http.get(completed.report.url, params={"format": "attestation"})
    statement = verify_attestation(
        signed.content,
        public_key=admin.stack.data.public_key.read_bytes(),
        bundle_sha256=completed.bundle_sha256,
    )
    assert statement.predicate.verdict == completed.verdict


async def test_a_broken_skill_fails_and_the_report_says_where(admin: "Admin", example: Zip) -> None:
    skill_id = await admin.submit(example("broken-report"))
    status = await admin.ended(skill_id)
    assert (status.verdict, status.status) == ("failed", "rejected")
    report = await admin.report(skill_id)
    (online,) = report.runs
    assert all(grade.grade <= 2 for grade in online.grades)
    assert all(grade.evidence for grade in online.grades)
    markdown = await admin.markdown(skill_id)
    assert markdown.startswith("# FAILED: broken-report")
    assert "grade 1 of 5" in markdown or "grade 2 of 5" in markdown
    assert "Error" in markdown, "the script's own error is the evidence"


async def test_a_skill_that_needs_the_network_is_seen_trying(admin: "Admin", example: Zip) -> None:
    skill_id = await admin.submit(example("weather-now"))
    status = await admin.ended(skill_id)
    assert status.verdict != "failed", "it documents what it does without its service"
    report = await admin.report(skill_id)
    assert [run.kind for run in report.runs] == ["online", "offline"]
    calls = report.runs[1].network_calls
    assert calls
    assert {call.destination for call in calls} == {"weather.example"}
    assert all("weather.py" in call.command for call in calls)
    assert report.scores is not None
    assert report.scores.offline == (70.0 if len(calls) <= 2 else 0.0)
    assert "weather.example" in await admin.markdown(skill_id)


async def test_progress_is_told_live_and_the_stream_ends_with_the_verdict(
    admin: "Admin", make_slow_skill: Callable[[str, float], bytes]
) -> None:
    skill_id = await admin.submit(make_slow_skill("live-progress", 0.3))
    path = f"/api/admin/skills/{skill_id}/events"
    async with asyncio.timeout(60), aconnect_sse(admin.http, "GET", path) as source:
        seen = [
            SkillStatusView.model_validate_json(event.data)
            async for event in source.aiter_sse()
            if event.event == "status"
        ]
    assert seen[-1].verdict == "passed"
    steps = [status.step for status in seen]
    assert {"online_run", "offline_run"} <= set(steps)
    runs = [status for status in seen if status.step in ("online_run", "offline_run")]
    assert max(status.tasks_done for status in runs) == 3
    assert {status.tasks_total for status in runs} == {3}
    progress = [status.progress for status in seen]
    assert progress == sorted(progress)


async def test_several_skills_go_through_at_once(
    admin: "Admin", make_slow_skill: Callable[[str, float], bytes]
) -> None:
    skills = await asyncio.gather(
        *(admin.submit(make_slow_skill(f"at-once-{n}", 0.1)) for n in range(7))
    )
    ended = await asyncio.gather(*(admin.ended(skill_id) for skill_id in skills))
    assert {status.verdict for status in ended} == {"passed"}
    for skill_id in skills:
        assert len(await admin.completions(skill_id)) == 1


async def test_an_outside_system_can_catch_up_on_what_it_missed(admin: "Admin") -> None:
    outside = await nats.connect(admin.stack.observer_url)
    try:
        js = outside.jetstream(prefix=JETSTREAM_PREFIX)
        subscription = await js.pull_subscribe_bind("observer", "FACTS")
        messages = await subscription.fetch(100, timeout=1)
        facts = [json.loads(message.data) for message in messages]
        said = [
            each["validation_id"]
            for each in facts
            if each["message_type"] == "validation.completed"
        ]
        assert sorted(said) == sorted(str(heard.validation_id) for heard in admin.completed)
        assert len(said) == len(set(said))
    finally:
        await outside.close()


async def test_an_outside_system_cannot_speak(admin: "Admin") -> None:
    errors: list[Exception] = []

    async def note(error: Exception) -> None:
        errors.append(error)

    outside = await nats.connect(admin.stack.observer_url, error_cb=note)
    try:
        for fact in FACTS:
            await outside.publish(fact.SUBJECT, b"{}")
        await outside.flush()
        await until(lambda: len(errors) >= len(FACTS), why="every fact was refused", timeout_s=60)
        assert all("permissions violation" in str(error).lower() for error in errors)
    finally:
        await outside.close()


class TestRefusals:
    """Each has its own clear answer, and nothing is kept."""

    async def test_bytes_that_are_no_zip(self, admin: "Admin") -> None:
        answer = await admin.upload(b"not a zip at all")
        assert answer.status_code == 400
        assert answer.json()["code"] == "INVALID_ZIP"

    async def test_a_skill_with_a_bad_skill_md(self, admin: "Admin", example: Zip) -> None:
        content = example("csv-analyzer").replace(b"SKILL.md", b"SKULL.md")
        answer = await admin.upload(content)
        assert answer.status_code == 400
        body = answer.json()
        assert body["code"] == "INVALID_SKILL_FORMAT"
        assert body["details"]["findings"]

    @pytest.mark.parametrize("token", [None, "wrong", "x" * 5000])
    async def test_a_wrong_token(self, admin: "Admin", token: str | None) -> None:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(base_url=admin.stack.url, headers=headers) as stranger:
            answer = await stranger.get("/api/admin/skills")
        assert answer.status_code == 401
        assert answer.json()["code"] == "UNAUTHORIZED"

    @pytest.mark.parametrize("what", ["", "/validation-status", "/events", "/report"])
    async def test_an_unknown_id(self, admin: "Admin", what: str) -> None:
        answer = await admin.http.get(f"/api/admin/skills/{uuid4()}{what}")
        assert answer.status_code == 404
        assert answer.json()["code"] == "SKILL_NOT_FOUND"

    async def test_a_name_in_use(self, admin: "Admin", example: Zip) -> None:
        listed = (await admin.http.get("/api/admin/skills?q=csv-analyzer")).json()["skills"]
        answer = await admin.upload(example("csv-analyzer"))
        assert answer.status_code == 409
        assert answer.json()["code"] == "SKILL_ALREADY_EXISTS"
        assert answer.json()["details"]["skill_id"] == listed[0]["skill_id"]
