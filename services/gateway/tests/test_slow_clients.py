"""Clients that send or read slowly, by plain sockets: the others are answered all the same."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from urllib.parse import urlsplit

import httpx
import pytest
import pytest_asyncio
from prometheus_client import REGISTRY

from assay_gateway.app import create_app
from assay_servicekit.slow_clients import ClientLimits
from assay_testkit.gateway.running import ADMIN_TOKEN, served, settings_for_tests
from assay_testkit.servers import RunningNats

pytestmark = pytest.mark.asyncio(loop_scope="module")

LIMITS = ClientLimits(
    headers_within_s=3.0, body_pause_s=0.5, body_bytes=100, reading_pause_s=0.5, per_address=50
)
HALF_SENT = b"GET /api/openapi.json HTTP/1.1\r\nHost: x\r\nX-Slow: "
UPLOAD = (
    b"POST /api/admin/skills/upload HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data;"
    b" boundary=b\r\nContent-Length: 1000000\r\nAuthorization: Bearer "
    + ADMIN_TOKEN.encode()
    + b"\r\n\r\n"
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def gateway(nats_server: RunningNats) -> AsyncIterator[str]:
    service = create_app(settings_for_tests(nats_server.url("gateway")))
    async with served(replace(service, client_limits=LIMITS)) as url:
        yield url


async def connect(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    where = urlsplit(url)
    return await asyncio.open_connection(where.hostname, where.port)


async def ended(reader: asyncio.StreamReader) -> bytes:
    """What was still said until the connection was closed by the other side."""
    try:
        return await asyncio.wait_for(reader.read(-1), 10)
    except ConnectionError:
        return b""


async def answer(url: str) -> int:
    async with httpx.AsyncClient(timeout=5) as client:
        return (await client.get(f"{url}/livez")).status_code


def closed(reason: str) -> float:
    name = "assay_http_connections_closed_total"
    return REGISTRY.get_sample_value(name, {"reason": reason}) or 0.0


async def test_half_sent_headers_keep_nobody_out(gateway: str) -> None:
    before = closed("per_address")
    async with AsyncExitStack() as held:
        readers = []
        for _ in range(300):
            reader, writer = await connect(gateway)
            held.callback(writer.close)
            writer.write(HALF_SENT)
            readers.append(reader)
        assert await answer(gateway) == 200
        # More than the bound went at once, and the rest after their time.
        assert closed("per_address") - before >= 250
        assert await asyncio.gather(*(ended(reader) for reader in readers)) == [b""] * 300


@pytest.mark.parametrize("sent", [b"", HALF_SENT])
async def test_who_sends_no_request_is_closed(gateway: str, sent: bytes) -> None:
    reader, writer = await connect(gateway)
    writer.write(sent)
    assert await ended(reader) == b""
    writer.close()


async def test_headers_that_drip_have_the_same_time_as_others(gateway: str) -> None:
    reader, writer = await connect(gateway)
    writer.write(HALF_SENT)
    gone = asyncio.ensure_future(ended(reader))
    for _ in range(100):
        if gone.done():
            break
        writer.write(b"x")
        await asyncio.wait([gone], timeout=0.1)
    assert gone.done()
    writer.close()


async def test_a_body_that_drips_is_not_waited_for(gateway: str) -> None:
    reader, writer = await connect(gateway)
    writer.write(UPLOAD)
    gone = asyncio.ensure_future(ended(reader))
    for _ in range(100):
        if gone.done():
            break
        writer.write(b"-")
        await asyncio.wait([gone], timeout=0.1)
    assert gone.done()
    writer.close()


async def test_a_next_request_has_its_own_time(gateway: str) -> None:
    reader, writer = await connect(gateway)
    for _ in range(2):
        writer.write(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
        assert head.startswith(b"HTTP/1.1 200")
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        await reader.readexactly(length)
    writer.write(HALF_SENT)
    assert await ended(reader) == b""
    writer.close()
