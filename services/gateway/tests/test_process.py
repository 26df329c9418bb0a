"""The service as a process of its own, and its place in a trace."""

import asyncio
import json
import os
import signal
import sys
import time
from functools import partial
from uuid import uuid4

import httpx
import pytest

from assay_cli.embedded.ports import free_ports
from assay_testkit.gateway.running import ADMIN_TOKEN
from assay_testkit.gateway.samples import sample_status
from assay_testkit.gateway.services import Records
from assay_testkit.servers import RunningNats
from assay_testkit.waiting import until

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_the_trace_of_a_request_goes_on_in_the_service_that_answers(
    client: httpx.AsyncClient, records: Records
) -> None:
    trace_id, span_id = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"

    await client.get("/api/admin/skills", headers={"traceparent": f"00-{trace_id}-{span_id}-01"})
    await client.get("/api/admin/skills")

    asked_within, on_its_own = records.traceparents
    assert asked_within
    assert on_its_own
    assert asked_within.split("-")[1] == trace_id
    assert asked_within.split("-")[2] != span_id
    assert on_its_own.split("-")[1] != trace_id


async def test_a_stop_signal_ends_it_at_once_even_with_a_stream_open(
    nats_server: RunningNats, records: Records
) -> None:
    status = sample_status(uuid4())
    records.statuses[status.skill_id] = status
    (port,) = free_ports(1)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "assay_gateway",
        env={
            **os.environ,
            "NATS_URL": nats_server.url("gateway"),
            "ASSAY_ADMIN_TOKEN": ADMIN_TOKEN,
            "ASSAY_HTTP_PORT": str(port),
        },
        stderr=asyncio.subprocess.PIPE,
    )
    url = f"http://127.0.0.1:{port}"
    headers = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
    try:
        async with asyncio.timeout(30), httpx.AsyncClient(base_url=url, headers=headers) as client:
            await until(
                partial(is_ready, client),
                why="the gateway is ready",
                timeout_s=30,
                ignoring=httpx.TransportError,
            )
            request = client.build_request("GET", f"/api/admin/skills/{status.skill_id}/events")
            stream = await client.send(request, stream=True)
            lines = stream.aiter_lines()
            await anext(lines)
            stopping = time.monotonic()
            process.send_signal(signal.SIGTERM)
            _, stderr = await process.communicate()
            took = time.monotonic() - stopping
            await stream.aclose()
    finally:
        if process.returncode is None:
            process.kill()

    logged = [json.loads(line) for line in stderr.splitlines()]
    assert took < 10
    assert process.returncode in (0, -signal.SIGTERM)
    assert [entry["event"] for entry in logged if entry["level"] == "error"] == []
    assert "service_stopped" in [entry["event"] for entry in logged]
    assert {entry["service"] for entry in logged} == {"gateway"}


async def test_it_stays_ready_and_tells_which_other_service_is_missing(
    client: httpx.AsyncClient, records: Records
) -> None:
    answer = await client.get("/readyz")
    assert answer.status_code == 200
    ready = answer.json()
    assert ready["ready"]
    assert set(ready["missing"]) == {"ingest"}, "the records answer in this test, ingest does not"
    assert "is not running" in ready["missing"]["ingest"]


async def is_ready(client: httpx.AsyncClient) -> bool:
    return (await client.get("/readyz")).status_code == 200
