"""Whoever is refused at the door cannot send much, and gets an answer."""

import asyncio
from urllib.parse import urlsplit

import httpx
import pytest

from assay_gateway.adapters.http.early_refusal import DRAIN_BYTES
from assay_testkit.gateway.running import ADMIN_TOKEN
from assay_testkit.gateway.services import Ingest

pytestmark = pytest.mark.asyncio(loop_scope="module")

UPLOAD = "/api/admin/skills/upload"
CHUNK = b"x" * 64 * 1024
FITS_INTO_BUFFERS = 40 * 1024 * 1024
"""What the kernel takes in on both sides of a connection that nobody reads from, and then some."""


async def send_for_ever(writer: asyncio.StreamWriter) -> int:
    """How much went out before the connection was cut."""
    sent = 0
    try:
        while True:
            writer.write(f"{len(CHUNK):x}\r\n".encode() + CHUNK + b"\r\n")
            await writer.drain()
            sent += len(CHUNK)
    except ConnectionError:
        return sent


@pytest.mark.parametrize("path", [UPLOAD, "/api/admin/made-up"])
@pytest.mark.parametrize("token", ["", "wrong"])
async def test_an_endless_body_is_cut_off(gateway: str, path: str, token: str) -> None:
    address = urlsplit(gateway)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    lines = [f"POST {path} HTTP/1.1", "Host: gateway", "Transfer-Encoding: chunked"]
    lines += [f"Authorization: Bearer {token}"] if token else []
    writer.write("".join(f"{line}\r\n" for line in lines).encode() + b"\r\n")

    async with asyncio.timeout(30):
        sent, status_line = await asyncio.gather(send_for_ever(writer), reader.readline())
    writer.close()

    assert status_line.startswith(b"HTTP/1.1 401 ")
    assert sent < DRAIN_BYTES + FITS_INTO_BUFFERS


async def test_a_body_is_not_even_asked_for(gateway: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay_gateway.adapters.http.early_refusal.DRAIN_S", 0.1)
    address = urlsplit(gateway)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    lines = (f"POST {UPLOAD} HTTP/1.1", "Host: g", "Content-Length: 9999", "Expect: 100-continue")
    writer.write("".join(f"{line}\r\n" for line in lines).encode() + b"\r\n")

    async with asyncio.timeout(30):
        answer = await reader.read()
    writer.close()

    assert answer.startswith(b"HTTP/1.1 401 ")
    assert b"100 Continue" not in answer


@pytest.mark.parametrize("size", [10, 1024 * 1024, DRAIN_BYTES - 100_000])
async def test_a_client_that_sends_first_and_reads_later_gets_its_answer(
    gateway: str, ingest: Ingest, size: int
) -> None:
    async with httpx.AsyncClient(base_url=gateway, timeout=30) as client:
        for headers in ({}, {"Authorization": "Bearer wrong"}):
            files = {"file": ("a.zip", b"x" * size)}
            answer = await client.post(UPLOAD, files=files, headers=headers)
            assert answer.status_code == 401
            assert answer.json()["code"] == "UNAUTHORIZED"
    assert ingest.asked == []


@pytest.mark.parametrize(
    "path", ["/api/admin%2Fskills", "/api/%61dmin/skills", "/api/admin/../admin/skills"]
)
async def test_no_other_way_to_write_the_path_leads_past_it(gateway: str, path: str) -> None:
    address = urlsplit(gateway)
    for token, status in (("wrong", b"401"), (ADMIN_TOKEN, b"503 404")):
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        writer.write(
            f"GET {path} HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
        )
        async with asyncio.timeout(30):
            status_line = await reader.readline()
        writer.close()
        assert status_line.split()[1] in status.split()
