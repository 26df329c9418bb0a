"""Live progress over a real connection, from connecting to the end of the validation."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID, uuid4

import httpx
import pytest
from prometheus_client import generate_latest

from assay_contracts.rpc import SkillStatusView
from assay_testkit.gateway.running import ADMIN_TOKEN, running_gateway
from assay_testkit.gateway.samples import sample_status
from assay_testkit.gateway.services import Records
from assay_testkit.servers import RunningNats
from assay_testkit.waiting import until

pytestmark = pytest.mark.asyncio(loop_scope="module")

Block = dict[str, str]
"""The fields of one event; a comment is under the empty name."""


@asynccontextmanager
async def following(
    client: httpx.AsyncClient, skill_id: UUID, *, last_event_id: str | None = None
) -> AsyncIterator[AsyncIterator[Block]]:
    headers = {"Last-Event-ID": last_event_id} if last_event_id else {}
    url = f"/api/admin/skills/{skill_id}/events"
    async with (
        asyncio.timeout(30),
        client.stream("GET", url, headers=headers) as response,
    ):
        assert response.status_code == 200
        assert response.headers["Content-Type"].startswith("text/event-stream")
        assert response.headers["Cache-Control"] == "no-store"
        yield blocks(response)


async def blocks(response: httpx.Response) -> AsyncIterator[Block]:
    block: Block = {}
    async for line in response.aiter_lines():
        if not line:
            yield block
            block = {}
        else:
            name, _, value = line.partition(":")
            block[name] = value.removeprefix(" ")


def status_of(block: Block) -> SkillStatusView:
    assert block["event"] == "status"
    return SkillStatusView.model_validate_json(block["data"])


async def followers(client: httpx.AsyncClient) -> float:
    metrics = generate_latest().decode()
    (line,) = [each for each in metrics.splitlines() if each.startswith("assay_gateway_followers ")]
    return float(line.split()[1])


async def test_every_status_until_the_validation_has_ended(
    client: httpx.AsyncClient, records: Records
) -> None:
    statuses = [
        sample_status(skill_id := uuid4(), "queued"),
        sample_status(skill_id, "layer1", tasks_done=1),
        sample_status(skill_id, "layer1", tasks_done=2),
        sample_status(skill_id, "completed", tasks_done=3),
    ]
    records.statuses[skill_id] = statuses[0]
    seen = []

    async with following(client, skill_id) as events:
        async for event in events:
            seen.append(status_of(event))
            if len(seen) < len(statuses):
                await records.progress(statuses[len(seen)])

    assert seen == statuses


async def test_whoever_comes_back_is_shown_only_what_is_new(
    client: httpx.AsyncClient, records: Records, nats_server: RunningNats
) -> None:
    status = sample_status(uuid4(), tasks_done=1)
    done = sample_status(status.skill_id, "completed", tasks_done=3)
    records.statuses[status.skill_id] = status
    async with following(client, status.skill_id) as events:
        seen = (await anext(events))["id"]

    async with (
        # Another process: what an id means does not rest on who gave it.
        running_gateway(nats_server.url("gateway")) as url,
        httpx.AsyncClient(base_url=url, headers=client.headers) as other,
    ):
        async with following(other, status.skill_id, last_event_id=seen) as events:
            await records.progress(done)
            shown = [event async for event in events if "event" in event]
        assert [status_of(event) for event in shown] == [done]

        ended = await other.get(
            f"/api/admin/skills/{status.skill_id}/events",
            headers={"Last-Event-ID": shown[0]["id"]},
        )
        assert (ended.status_code, ended.content) == (204, b"")


async def test_a_validation_that_has_ended_already(
    client: httpx.AsyncClient, records: Records
) -> None:
    for stage in ("completed", "failed", "inconclusive"):
        status = sample_status(uuid4(), stage)
        records.statuses[status.skill_id] = status

        async with following(client, status.skill_id) as events:
            assert [status_of(event) async for event in events] == [status]


async def test_progress_of_another_skill_is_not_shown(
    client: httpx.AsyncClient, records: Records
) -> None:
    mine, other = sample_status(uuid4()), sample_status(uuid4())
    done = mine.model_copy(update={"validation_stage": "failed"})
    records.statuses[mine.skill_id] = mine

    async with following(client, mine.skill_id) as events:
        assert status_of(await anext(events)) == mine
        await records.progress(other)
        await records.progress(done)
        assert [status_of(event) async for event in events] == [done]


async def test_a_burst_of_progress_is_one_look_at_the_records(
    client: httpx.AsyncClient, records: Records
) -> None:
    skill_id = uuid4()
    records.statuses[skill_id] = sample_status(skill_id)

    async with following(client, skill_id) as events:
        await anext(events)
        for done in range(200):
            await records.progress(sample_status(skill_id, tasks_done=done))
        last = sample_status(skill_id, "completed")
        await records.progress(last)
        shown = [status_of(event) async for event in events]

    assert shown[-1] == last
    assert len(records.asked) < 50


async def test_an_unknown_skill(client: httpx.AsyncClient, records: Records) -> None:
    answer = await client.get(f"/api/admin/skills/{uuid4()}/events")

    assert (answer.status_code, answer.json()["code"]) == (404, "SKILL_NOT_FOUND")


async def test_the_stream_outlives_a_scorer_that_is_restarted(
    client: httpx.AsyncClient, nats_server: RunningNats
) -> None:
    status = sample_status(uuid4())
    async with Records(nats_server.url("scorer")) as first:
        first.statuses[status.skill_id] = status
        async with following(client, status.skill_id) as events:
            assert status_of(await anext(events)) == status
            await first.bus.stop()
            assert "scorer" in (await anext(events))[""]

            async with Records(nats_server.url("scorer")) as second:
                done = sample_status(status.skill_id, "completed")
                second.statuses[status.skill_id] = done
                shown = [event async for event in events if "event" in event]

    assert [status_of(event) for event in shown] == [done]


async def test_a_skill_that_is_gone_ends_the_stream_with_the_reason(
    client: httpx.AsyncClient, records: Records
) -> None:
    status = sample_status(uuid4())
    records.statuses[status.skill_id] = status

    async with following(client, status.skill_id) as events:
        await anext(events)
        del records.statuses[status.skill_id]
        (problem,) = [event async for event in events]

    assert problem["event"] == "problem"
    assert json.loads(problem["data"])["code"] == "SKILL_NOT_FOUND"


async def test_a_client_that_leaves_is_forgotten(
    client: httpx.AsyncClient, records: Records
) -> None:
    status = sample_status(uuid4())
    records.statuses[status.skill_id] = status
    before = await followers(client)

    async with following(client, status.skill_id) as events:
        await anext(events)
        assert await followers(client) == before + 1

    async def is_forgotten() -> bool:
        return await followers(client) == before

    await until(is_forgotten, why="the client that left is forgotten")


async def test_an_open_stream_does_not_hold_up_the_end(
    nats_server: RunningNats, records: Records
) -> None:
    status = sample_status(uuid4())
    records.statuses[status.skill_id] = status
    headers = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
    async with httpx.AsyncClient(headers=headers) as client:
        async with running_gateway(nats_server.url("gateway")) as url:
            request = client.build_request(
                "GET", f"{url}/api/admin/skills/{status.skill_id}/events"
            )
            response = await client.send(request, stream=True)
            events = blocks(response)
            await anext(events)
            stopping = time.monotonic()

        assert time.monotonic() - stopping < 5
        assert [event async for event in events if "event" in event] == []
        await response.aclose()
