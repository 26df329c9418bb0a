"""Nobody gets in without the token, on any route that there is."""

from collections.abc import Iterator

import httpx
import pytest
from fastapi.routing import iter_route_contexts
from pydantic import SecretStr

from assay_gateway.app import create_app
from assay_gateway.settings import Settings
from assay_gateway.testing import ADMIN_TOKEN
from assay_servicekit.service import asgi

pytestmark = pytest.mark.asyncio(loop_scope="module")

OPEN_PATHS = {"/livez", "/readyz", "/metrics", "/api/openapi.json"}


def every_route() -> Iterator[tuple[str, str]]:
    service = create_app(
        Settings(nats_url=SecretStr("nats://nowhere"), admin_token=SecretStr(ADMIN_TOKEN))
    )
    for route in iter_route_contexts(asgi(service).routes):
        for method in sorted(route.methods or ()):
            yield method, route.path or ""


PROTECTED = [(method, path) for method, path in every_route() if path not in OPEN_PATHS]


async def test_the_route_table_is_read_right() -> None:
    assert ("POST", "/api/admin/skills/upload") in PROTECTED
    assert ("GET", "/api/admin/skills/{skill_id}/events") in PROTECTED
    assert all(path.startswith("/api/admin/") for _, path in PROTECTED)


@pytest.mark.parametrize(("method", "path"), PROTECTED)
async def test_every_admin_route_asks_for_the_token(gateway: str, method: str, path: str) -> None:
    wrong = (
        "",
        "Bearer",
        "Bearer wrong",
        f"Bearer {ADMIN_TOKEN}x",
        f"Bearer {ADMIN_TOKEN[:-1]}",
        f"Bearer {ADMIN_TOKEN.upper()}",
        f"Basic {ADMIN_TOKEN}",
        ADMIN_TOKEN,
        "Bearer ÿþ",
    )
    attempts = [[], *([(b"Authorization", header.encode("latin-1"))] for header in wrong)]
    async with httpx.AsyncClient(base_url=gateway) as client:
        for headers in attempts:
            answer = await client.request(method, path, headers=headers)

            assert answer.status_code == 401, headers
            assert answer.headers["WWW-Authenticate"] == "Bearer"
            assert answer.json()["code"] == "UNAUTHORIZED"


@pytest.mark.parametrize("path", sorted(OPEN_PATHS))
async def test_what_is_open_to_all(gateway: str, path: str) -> None:
    async with httpx.AsyncClient(base_url=gateway) as client:
        assert (await client.get(path)).status_code == 200


async def test_the_scheme_is_read_in_any_case(gateway: str) -> None:
    async with httpx.AsyncClient(base_url=gateway) as client:
        answer = await client.get(
            "/api/admin/skills?size=0", headers={"Authorization": f"bearer {ADMIN_TOKEN}"}
        )

    assert answer.status_code == 422
