"""A full test on a stack of its own: followed, refused a second time, killed into, cancelled."""

import io
import os
import signal
import zipfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING
from uuid import UUID

import httpx
import nats
import pytest
import pytest_asyncio
from nats.aio.msg import Msg

from assay_cli.embedded.stack import Stack
from assay_contracts.full_tests import FullTestCompleted, FullTestView
from assay_contracts.topology import JETSTREAM_PREFIX, BucketName
from assay_servicekit.objects import ObjectStore
from assay_testkit.servers import private_folder
from assay_testkit.slow_skill import slow_skill
from assay_testkit.waiting import until

if TYPE_CHECKING:
    from tests.e2e.conftest import Admin

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(600)]
PATIENCE_S = 180.0


def greeter() -> bytes:
    """A skill whose command is given no files: only words tell its tasks apart."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(
            "quick-hello/SKILL.md",
            "---\nname: quick-hello\ndescription: Greets the team with a line of text. Use when "
            "somebody wants a greeting.\n---\n# Greeting\n\nPrint a greeting:\n\n"
            "```bash\npython3 scripts/hello.py\n```\n",
        )
        archive.writestr("quick-hello/scripts/hello.py", "print('hello team')\n")
    return buffer.getvalue()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def admin(
    open_admin: Callable[[Stack], AbstractAsyncContextManager["Admin"]],
) -> AsyncIterator["Admin"]:
    """An admin of two approved skills, one of which takes its time."""
    with private_folder() as data:
        async with Stack(data) as stack, open_admin(stack) as admin:
            for content in (greeter(), slow_skill("line-counter", 1.0)):
                skill_id = await admin.submit(content)
                assert (await admin.ended(skill_id)).verdict == "passed"
                answer = await admin.http.post(f"/api/admin/skills/{skill_id}/approve")
                assert answer.status_code == 200, answer.text
            yield admin


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def facts(admin: "Admin") -> AsyncIterator[list[FullTestCompleted]]:
    """Every `full-test.completed` that an outside system hears."""
    heard: list[FullTestCompleted] = []

    async def hear(message: Msg) -> None:
        heard.append(FullTestCompleted.model_validate_json(message.data))

    outside = await nats.connect(admin.stack.observer_url, max_reconnect_attempts=-1)
    await outside.subscribe(FullTestCompleted.SUBJECT, cb=hear)
    await outside.flush()
    yield heard
    await outside.close()


async def started(admin: "Admin") -> FullTestView:
    answer = await admin.http.post("/api/admin/skills/full-test")
    assert answer.status_code == 200, answer.text
    return FullTestView.model_validate_json(answer.content)


async def view_once(
    admin: "Admin", full_test_id: UUID, reached: Callable[[FullTestView], bool]
) -> FullTestView:
    """Ask until it is so; a service that is being brought back answers 503 meanwhile."""

    async def view_if_reached() -> FullTestView | None:
        answer = await admin.http.get(f"/api/admin/full-tests/{full_test_id}")
        if answer.status_code != 200:
            return None
        view = FullTestView.model_validate_json(answer.content)
        return view if reached(view) else None

    return await until(
        view_if_reached,
        why="the full test is that far",
        timeout_s=PATIENCE_S,
        every_s=0.2,
        ignoring=httpx.TransportError,
    )


async def said_of(facts: list[FullTestCompleted], full_test_id: UUID) -> list[FullTestCompleted]:
    return await until(
        lambda: [fact for fact in facts if fact.full_test_id == full_test_id],
        why="its completion was announced",
        timeout_s=PATIENCE_S,
    )


async def approved(admin: "Admin") -> dict[str, str]:
    listed = (await admin.http.get("/api/admin/skills?status=approved")).json()
    return {each["name"]: each["skill_id"] for each in listed["skills"]}


async def test_a_full_test_survives_the_death_of_the_scorer_and_completes_once(
    admin: "Admin", facts: list[FullTestCompleted]
) -> None:
    view = await started(admin)
    assert (view.status, view.runtime_version, view.counts.total) == ("running", "v1.2", 2)
    again = await admin.http.post("/api/admin/skills/full-test")
    assert (again.status_code, again.json()["code"]) == (409, "VALIDATION_IN_PROGRESS")
    assert again.json()["details"]["full_test_id"] == str(view.full_test_id)
    assert set(await approved(admin)) == {"quick-hello", "line-counter"}

    await view_once(admin, view.full_test_id, lambda now: now.skills[0].step == "online_run")
    os.kill(admin.stack.pid("scorer"), signal.SIGKILL)

    view = await view_once(admin, view.full_test_id, lambda now: now.completed_at is not None)
    assert view.status == "completed"
    assert [(each.skill_name, each.verdict, each.tasks) for each in view.skills] == [
        ("line-counter", "passed", 5),
        ("quick-hello", "passed", 5),
    ], view
    said = await said_of(facts, view.full_test_id)
    assert len({fact.message_id for fact in said}) == 1
    assert said[0].counts == view.counts
    for each in view.skills:
        detail = (await admin.http.get(f"/api/admin/skills/{each.skill_id}")).json()
        assert detail["status"] == "approved"
        completions = [
            heard for heard in admin.completed if heard.validation_id == each.validation_id
        ]
        assert {heard.kind for heard in completions} == {"full_test"}
        assert len({heard.message_id for heard in completions}) == 1
        report = await admin.http.get(completions[0].report.url)
        assert report.json()["kind"] == "full_test"
        assert [len(run["grades"]) for run in report.json()["runs"]] == [5, 5]


async def test_a_cancelled_full_test_ends_at_once_and_leaves_the_skills_as_they_were(
    admin: "Admin", facts: list[FullTestCompleted]
) -> None:
    before = await approved(admin)
    view = await started(admin)
    await view_once(admin, view.full_test_id, lambda now: now.skills[0].step == "online_run")
    answer = await admin.http.post(f"/api/admin/full-tests/{view.full_test_id}/cancel")
    assert answer.status_code == 200, answer.text
    view = await view_once(admin, view.full_test_id, lambda now: now.completed_at is not None)
    assert view.status == "cancelled"
    assert view.skills[0].verdict == "inconclusive"
    (fact,) = await said_of(facts, view.full_test_id)
    assert (fact.status, fact.counts) == ("cancelled", view.counts)
    assert await approved(admin) == before
    # Those of the two versions stay; what the full tests left goes.
    await until(
        lambda: environments_there(admin),
        why="what the full tests left is gone",
        timeout_s=PATIENCE_S,
        every_s=0.5,
    )


async def environments_there(admin: "Admin") -> bool:
    """Whether there are those of the two versions, and no others."""
    bus = await nats.connect(admin.stack.bus_url("sandbox-runner"))
    objects = ObjectStore(lambda: bus, lambda: bus.jetstream(prefix=JETSTREAM_PREFIX))
    buckets: tuple[BucketName, ...] = ("environments", "kept-environments")
    there = [len([each async for each in objects.everything(bucket)]) for bucket in buckets]
    await bus.close()
    return there == [0, 2]
