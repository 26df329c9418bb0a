"""What every answer tells a browser not to do."""

import httpx
import pytest

from assay_testkit.gateway.running import ADMIN_TOKEN, running_gateway
from assay_testkit.gateway.services import Records
from assay_testkit.servers import RunningNats

pytestmark = pytest.mark.asyncio(loop_scope="module")

ADMIN = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
REQUESTS = [
    ("GET", "/livez", {}, 200),
    ("GET", "/readyz", {}, 200),
    ("GET", "/nowhere", {}, 404),
    ("GET", "/api/openapi.json", {}, 200),
    ("DELETE", "/api/openapi.json", {}, 405),
    ("GET", "/api/admin/skills", {}, 401),
    ("GET", "/api/admin/skills", ADMIN, 200),
    ("GET", "/api/admin/skills?size=0", ADMIN, 422),
    ("GET", "/api/admin/nowhere", ADMIN, 404),
    ("OPTIONS", "/api/admin/skills", ADMIN, 405),
]
ORIGIN = "https://admin.example"


@pytest.mark.parametrize("request_and_status", REQUESTS)
async def test_every_answer_has_them(
    gateway: str, records: Records, request_and_status: tuple[str, str, dict[str, str], int]
) -> None:
    method, path, headers, status = request_and_status
    async with httpx.AsyncClient(base_url=gateway, headers=headers, timeout=30) as client:
        answer = await client.request(method, path)

    assert answer.status_code == status
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert answer.headers.get("Cache-Control") == ("no-store" if "/api" in path else None)
    for absent in ("Strict-Transport-Security", "Access-Control-Allow-Origin"):
        assert absent not in answer.headers


async def test_https_is_kept_to_where_a_trusted_proxy_has_it(nats_server: RunningNats) -> None:
    headers = {"X-Forwarded-Proto": "https"}
    url_of = nats_server.url("gateway")
    async with httpx.AsyncClient(headers=headers, timeout=30) as client:
        async with running_gateway(url_of, trusted_proxies="10.0.0.0/8, 127.0.0.1") as url:
            trusted = await client.get(f"{url}/livez")
        async with running_gateway(url_of, trusted_proxies="10.0.0.0/8") as url:
            untrusted = await client.get(f"{url}/livez")

    assert trusted.headers["Strict-Transport-Security"] == "max-age=31536000"
    assert "Strict-Transport-Security" not in untrusted.headers


async def test_pages_of_other_sites_may_ask_only_if_they_are_named(
    nats_server: RunningNats, records: Records
) -> None:
    def preflight(origin: str, method: str = "POST") -> dict[str, str]:
        return {
            "Origin": origin,
            "Access-Control-Request-Method": method,
            "Access-Control-Request-Headers": "authorization",
        }

    path = "/api/admin/skills"
    async with (
        running_gateway(nats_server.url("gateway"), cors_origins=ORIGIN) as url,
        httpx.AsyncClient(base_url=url, timeout=30) as client,
    ):
        allowed = await client.options(path, headers=preflight(ORIGIN))
        other = await client.options(path, headers=preflight("https://other.example"))
        method = await client.options(path, headers=preflight(ORIGIN, "PUT"))
        read = await client.get(path, headers={"Origin": ORIGIN, **ADMIN})
        refused = await client.get(path, headers={"Origin": ORIGIN})
        read_by_other = await client.get(path, headers={"Origin": "https://other.example", **ADMIN})

    assert allowed.status_code == 200
    for answer in (allowed, read, refused):
        assert answer.headers["Access-Control-Allow-Origin"] == ORIGIN
        assert "Access-Control-Allow-Credentials" not in answer.headers
    assert (read.status_code, refused.status_code) == (200, 401)
    for answer in (other, method):
        assert (answer.status_code, answer.json()["code"]) == (403, "FORBIDDEN")
        assert "Origin" in answer.headers["Vary"]
    for answer in (other, read_by_other):
        assert "Access-Control-Allow-Origin" not in answer.headers
    for answer in (allowed, other, read):
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
