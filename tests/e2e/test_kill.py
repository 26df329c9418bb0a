"""Kill a process with work in hand: the validation ends once, and nothing is left."""

import asyncio
import io
import json
import os
import signal
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import httpx
import nats
import pytest

from assay_contracts.rpc import SMALL_UPLOAD_BYTES
from assay_contracts.topology import JETSTREAM_PREFIX, ServiceName
from assay_testkit.waiting import until

if TYPE_CHECKING:
    from tests.e2e.conftest import Admin

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(240)]
MakeSkill = Callable[[str, float], bytes]


async def brought_back(admin: "Admin", process: str, old: int) -> None:
    await until(
        lambda: admin.stack.pid(process) != old, why=f"{process} was brought back", timeout_s=60
    )


async def ready(admin: "Admin", service: ServiceName) -> None:
    async with httpx.AsyncClient() as http:

        async def is_ready() -> bool:
            answer = await http.get(f"{admin.stack.health_url(service)}/readyz")
            return answer.status_code == 200

        await until(
            is_ready,
            why=f"{service} is ready",
            timeout_s=60,
            every_s=0.1,
            ignoring=httpx.TransportError,
        )


async def kill(admin: "Admin", process: str) -> None:
    pid = admin.stack.pid(process)
    os.kill(pid, signal.SIGKILL)
    await brought_back(admin, process, pid)


def sandboxes(admin: "Admin") -> list[Path]:
    """Folders of sandboxes, living or left behind."""
    folder = admin.stack.data.state("sandbox-runner") / "sandboxes"
    return list(folder.iterdir()) if folder.is_dir() else []


def processes_of(sandbox: Path) -> list[Path]:
    """Of a sandbox's own processes, those that live."""
    record = json.loads((sandbox / "record").read_text())
    return [path for pid, _ in record["processes"] if (path := Path(f"/proc/{pid}")).exists()]


async def nothing_left(admin: "Admin") -> None:
    await until(lambda: not sandboxes(admin), why="no sandbox is left", timeout_s=90, every_s=0.1)


async def passes_once(admin: "Admin", skill_id: UUID) -> None:
    status = await admin.ended(skill_id)
    assert status.verdict == "passed", status.reason
    completions = await admin.completions(skill_id)
    assert len({completed.message_id for completed in completions}) == 1
    await nothing_left(admin)


async def test_the_runner_dies_with_a_sandbox_in_hand(
    admin: "Admin", make_slow_skill: MakeSkill
) -> None:
    skill_id = await admin.submit(make_slow_skill("kill-runner", 1.0))
    await admin.until(skill_id, lambda s: s.step == "online_run" and s.tasks_done >= 1)
    (sandbox,) = sandboxes(admin)
    processes = processes_of(sandbox)
    assert processes
    await kill(admin, "sandbox-runner")
    await passes_once(admin, skill_id)
    assert not any(process.exists() for process in processes)


async def test_the_judge_dies_with_a_plan_in_hand(
    admin: "Admin", make_slow_skill: MakeSkill
) -> None:
    # Stopped first, so that it is sure to have taken the work and not to have finished it.
    judge = admin.stack.pid("judge")
    os.kill(judge, signal.SIGSTOP)
    skill_id = await admin.submit(make_slow_skill("kill-judge", 0.0))
    await admin.until(skill_id, lambda s: s.step == "planning")
    os.kill(judge, signal.SIGKILL)
    await brought_back(admin, "judge", judge)
    await passes_once(admin, skill_id)


async def test_the_scorer_dies_in_the_middle_of_a_run(
    admin: "Admin", make_slow_skill: MakeSkill
) -> None:
    skill_id = await admin.submit(make_slow_skill("kill-scorer", 1.0))
    await admin.until(skill_id, lambda s: s.step == "online_run" and s.tasks_done >= 1)
    await kill(admin, "scorer")
    await passes_once(admin, skill_id)


async def test_the_scorer_dies_with_a_result_in_hand(
    admin: "Admin", make_slow_skill: MakeSkill
) -> None:
    skill_id = await admin.submit(make_slow_skill("kill-scorer-again", 0.5))
    await admin.until(skill_id, lambda s: s.step == "online_run" and s.tasks_done >= 2)
    scorer = admin.stack.pid("scorer")
    os.kill(scorer, signal.SIGSTOP)
    # The third task ends meanwhile, and its result reaches a scorer that cannot take it in.
    await until(lambda: not sandboxes(admin), why="the run has ended", timeout_s=60)
    os.kill(scorer, signal.SIGKILL)
    await brought_back(admin, "scorer", scorer)
    await passes_once(admin, skill_id)


async def test_the_gateway_dies_while_somebody_watches(
    admin: "Admin", make_slow_skill: MakeSkill
) -> None:
    skill_id = await admin.submit(make_slow_skill("kill-gateway", 0.5))
    watching = f"/api/admin/skills/{skill_id}/events"
    async with admin.http.stream("GET", watching) as stream:
        lines = stream.aiter_lines()
        await anext(lines)
        await kill(admin, "gateway")
        with suppress(httpx.TransportError):
            async for _ in lines:
                pass
    await passes_once(admin, skill_id)


async def test_ingest_dies_with_an_upload_in_hand(
    admin: "Admin", make_slow_skill: MakeSkill
) -> None:
    beside = await admin.submit(make_slow_skill("beside-ingest", 0.5))
    content = with_data(make_slow_skill("kill-ingest", 0.0), "kill-ingest/data.bin")
    ingest = admin.stack.pid("ingest")
    os.kill(ingest, signal.SIGSTOP)
    upload = asyncio.create_task(admin.upload(content))
    await uploaded(admin)
    os.kill(ingest, signal.SIGKILL)
    await brought_back(admin, "ingest", ingest)
    refused = await upload
    assert refused.status_code == 503
    assert refused.json()["code"] == "SERVICE_UNAVAILABLE"
    await ready(admin, "ingest")
    skill_id = await admin.submit(content)
    await passes_once(admin, skill_id)
    await passes_once(admin, beside)


def with_data(skill: bytes, path: str) -> bytes:
    """The zip made large enough to go by way of the object store, where it can be seen."""
    buffer = io.BytesIO(skill)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr(path, os.urandom(SMALL_UPLOAD_BYTES))
    return buffer.getvalue()


async def uploaded(admin: "Admin") -> None:
    """Until the gateway has put an upload into the object store."""
    client = await nats.connect(admin.stack.bus_url("scorer"))

    async def is_there() -> bool:
        return (
            await client.jetstream(prefix=JETSTREAM_PREFIX).stream_info("OBJ_uploads")
        ).state.messages > 0

    try:
        await until(is_there, why="the upload is in the object store", timeout_s=60)
    finally:
        await client.close()


@pytest.mark.parametrize("server", ["nats", "postgres"])
async def test_a_server_dies_in_the_middle_of_a_run(
    admin: "Admin", make_slow_skill: MakeSkill, server: str
) -> None:
    skill_id = await admin.submit(make_slow_skill(f"kill-{server}", 1.0))
    await admin.until(skill_id, lambda s: s.step == "online_run" and s.tasks_done >= 1)
    await kill(admin, server)
    await passes_once(admin, skill_id)


async def test_a_stopped_scorer_is_said_so(admin: "Admin") -> None:
    scorer = admin.stack.pid("scorer")
    os.kill(scorer, signal.SIGSTOP)
    try:
        answer = await admin.http.get("/api/admin/skills")
        assert answer.status_code == 503
        assert answer.json()["code"] == "SERVICE_UNAVAILABLE"
        assert "scorer" in answer.json()["message"]
        assert int(answer.headers["Retry-After"]) > 0
    finally:
        os.kill(scorer, signal.SIGCONT)
    await ready(admin, "scorer")
