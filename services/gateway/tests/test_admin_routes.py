"""Nobody gets in without a token of an admin, on any route that there is."""

import json
import time
from collections.abc import Iterator

import httpx
import pytest
import pytest_asyncio
from fastapi.routing import iter_route_contexts
from starlette.types import Message

from assay_gateway.app import create_app
from assay_servicekit.service import asgi
from assay_testkit.gateway.entrance import Entrance, Headers, bearer, header
from assay_testkit.gateway.running import ADMIN_TOKEN, settings_for_tests
from assay_testkit.gateway.tokens import (
    AUDIENCE,
    ISSUER,
    SECRET,
    Issuer,
    claims,
    new_key,
    secret_token,
)
from assay_testkit.gateway.wrong_tokens import (
    NOT_ADMINS,
    WRONG_HEADERS,
    wrong_for_keys,
    wrong_for_secret,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

OPEN_PATHS = {"/livez", "/readyz", "/api/openapi.json"}
PAGE_PATHS = {"/", "/page/{name:path}"}
"""The page itself, which is open and shows nothing without a token."""
NOWHERE = "nats://nowhere"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "MADE-UP")


def every_route() -> Iterator[tuple[str, str]]:
    for route in iter_route_contexts(asgi(create_app(settings_for_tests(NOWHERE))).routes):
        for method in sorted(route.methods or ()):
            yield method, route.path or ""


PROTECTED = [
    (method, path) for method, path in every_route() if path not in OPEN_PATHS | PAGE_PATHS
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def by_secret() -> Entrance:
    return Entrance(
        create_app(
            settings_for_tests(NOWHERE, jwt_secret=SECRET, jwt_issuer=ISSUER, jwt_audience=AUDIENCE)
        )
    )


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with Issuer() as issuer:
        issuer.keys["second"] = new_key()
        yield issuer


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def by_keys(issuer: Issuer) -> Entrance:
    settings = settings_for_tests(
        NOWHERE, jwks_url=issuer.url, jwt_issuer=ISSUER, jwt_audience=AUDIENCE
    )
    return Entrance(create_app(settings))


async def test_the_route_table_is_read_right() -> None:
    assert ("POST", "/api/admin/skills/upload") in PROTECTED
    assert ("GET", "/api/admin/skills/{skill_id}/events") in PROTECTED
    assert "DELETE" in {method for method, _ in PROTECTED}
    assert all(path.startswith("/api/admin/") for _, path in PROTECTED)


async def refuses(entrance: Entrance, method: str, path: str, tokens: dict[str, Headers]) -> None:
    bodies = set()
    for name, headers in tokens.items():
        answer = await entrance.ask(method, path, headers)
        assert answer.status == 401, name
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert "allow" not in answer.headers
        bodies.add(answer.body)
    (body,) = bodies  # whatever was wrong, nothing tells
    if method != "HEAD":
        assert json.loads(body)["code"] == "UNAUTHORIZED"
    assert entrance.entered == []


async def forbids(entrance: Entrance, method: str, path: str, tokens: dict[str, str]) -> None:
    for name, token in tokens.items():
        answer = await entrance.ask(method, path, bearer(token))
        assert answer.status == 403, name
        assert json.loads(answer.body)["code"] == "FORBIDDEN"
    assert entrance.entered == []


async def lets_in(entrance: Entrance, method: str, path: str, tokens: dict[str, str]) -> None:
    for token, caller in tokens.items():
        assert (await entrance.ask(method, path, bearer(token))).status == 204
        assert entrance.entered.pop().name == caller


@pytest.mark.parametrize(("method", "path"), PROTECTED)
async def test_every_admin_route_with_a_shared_secret(
    by_secret: Entrance, method: str, path: str
) -> None:
    await refuses(by_secret, method, path, wrong_for_secret())
    await forbids(
        by_secret, method, path, {name: secret_token(said) for name, said in NOT_ADMINS.items()}
    )
    await lets_in(by_secret, method, path, {secret_token(): "ada", ADMIN_TOKEN: "admin"})


@pytest.mark.parametrize(("method", "path"), PROTECTED)
async def test_every_admin_route_with_published_keys(
    by_keys: Entrance, issuer: Issuer, method: str, path: str
) -> None:
    await refuses(by_keys, method, path, wrong_for_keys(issuer))
    await forbids(
        by_keys, method, path, {name: issuer.token(said) for name, said in NOT_ADMINS.items()}
    )
    tokens = {issuer.token(key_id="first"): "ada", issuer.token(key_id="second"): "ada"}
    await lets_in(by_keys, method, path, {**tokens, ADMIN_TOKEN: "admin"})


@pytest.mark.parametrize("method", METHODS)
async def test_what_is_not_there_is_as_closed_as_what_is(by_secret: Entrance, method: str) -> None:
    for path in ("/api/admin", "/api/admin/", "/api/admin/made-up", "/api/admin//skills"):
        await refuses(by_secret, method, path, WRONG_HEADERS)


async def test_no_websocket_comes_past_the_guard() -> None:
    app = asgi(create_app(settings_for_tests(NOWHERE)))
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message)

    path = "/api/admin/skills"
    scope = {"type": "websocket", "path": path, "headers": list(bearer(ADMIN_TOKEN))}
    await app(scope, receive, send)

    assert [message["type"] for message in sent] == ["websocket.close"]


@pytest.mark.parametrize("path", sorted(OPEN_PATHS))
async def test_what_is_open_to_all(gateway: str, path: str) -> None:
    async with httpx.AsyncClient(base_url=gateway) as client:
        assert (await client.get(path)).status_code == 200


async def test_the_scheme_is_read_in_any_case(by_secret: Entrance) -> None:
    for value in (f"bearer {ADMIN_TOKEN}", f"BEARER   {ADMIN_TOKEN} "):
        assert (await by_secret.ask("GET", "/api/admin/skills", header(value))).status == 204
        by_secret.entered.clear()


async def test_a_clock_that_is_a_little_off_locks_nobody_out(by_secret: Entrance) -> None:
    now = int(time.time())
    for said in (claims(exp=now - 5), claims(nbf=now + 5), claims(iat=now + 5)):
        answer = await by_secret.ask("GET", "/api/admin/skills", bearer(secret_token(said)))
        assert answer.status == 204
        by_secret.entered.clear()
