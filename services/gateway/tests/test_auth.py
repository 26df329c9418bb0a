"""Nobody gets in without a token of an admin, on any route that there is."""

import asyncio
import hmac
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import httpx
import jwt
import pytest
import pytest_asyncio
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from fastapi.routing import iter_route_contexts
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from jwt.utils import base64url_encode
from pydantic import SecretStr
from sse_starlette import ServerSentEvent
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from assay_gateway.adapters.http.admin import caller_of, let_in
from assay_gateway.adapters.http.server_sent_events import EventStream
from assay_gateway.adapters.tokens import LEEWAY_S, SharedSecret, SignedTokens, TokenRules
from assay_gateway.app import create_app
from assay_gateway.domain.callers import Caller, names_role
from assay_servicekit.service import Service, asgi
from assay_testkit.gateway import ADMIN_TOKEN, settings_for_tests
from assay_testkit.tokens import (
    AUDIENCE,
    HOUR_S,
    ISSUER,
    SECRET,
    Issuer,
    claims,
    new_key,
    published,
    secret_token,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

OPEN_PATHS = {"/livez", "/readyz", "/metrics", "/api/openapi.json"}
PAGE_PATHS = {"/", "/page/{name:path}"}
"""The page itself, which is open and shows nothing without a token."""
NOWHERE = "nats://nowhere"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "MADE-UP")

Headers = Sequence[tuple[bytes, bytes]]


def every_route() -> Iterator[tuple[str, str]]:
    for route in iter_route_contexts(asgi(create_app(settings_for_tests(NOWHERE))).routes):
        for method in sorted(route.methods or ()):
            yield method, route.path or ""


PROTECTED = [
    (method, path) for method, path in every_route() if path not in OPEN_PATHS | PAGE_PATHS
]


@dataclass
class Answer:
    status: int
    headers: httpx.Headers
    body: bytes


class Entrance:
    """The gateway with nothing behind its guard but a note of who came through."""

    def __init__(self, service: Service) -> None:
        self._app = asgi(service)
        self._app.router.middleware_stack = self._inside
        self.entered: list[Caller] = []

    async def ask(self, method: str, path: str, headers: Headers) -> Answer:
        sent: list[Message] = []

        async def receive() -> Message:
            raise AssertionError("the body was read")

        async def send(message: Message) -> None:
            sent.append(message)

        scope: Scope = {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": list(headers),
            "client": ("192.0.2.1", 5000),
            "server": ("127.0.0.1", 8002),
        }
        await self._app(scope, receive, send)
        start, *bodies = sent
        return Answer(
            start["status"],
            httpx.Headers(start["headers"]),
            b"".join(message.get("body", b"") for message in bodies),
        )

    async def _inside(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.entered.append(caller_of(scope))
        await Response(status_code=204)(scope, receive, send)


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


def bearer(token: str | bytes) -> Headers:
    shown = token.encode() if isinstance(token, str) else token
    return [(b"authorization", b"Bearer " + shown)]


def header(value: str) -> Headers:
    return [(b"authorization", value.encode("latin-1"))]


WRONG_HEADERS: dict[str, Headers] = {
    "no header": [],
    "empty header": header(""),
    "scheme alone": header("Bearer"),
    "scheme and a space": header("Bearer "),
    "another token": header("Bearer wrong"),
    "longer": header(f"Bearer {ADMIN_TOKEN}x"),
    "shorter": header(f"Bearer {ADMIN_TOKEN[:-1]}"),
    "in capitals": header(f"Bearer {ADMIN_TOKEN.upper()}"),
    "another scheme": header(f"Basic {ADMIN_TOKEN}"),
    "no scheme": header(ADMIN_TOKEN),
    "not ASCII": header("Bearer ÿþ"),
    "two headers": [*bearer(ADMIN_TOKEN), *bearer(ADMIN_TOKEN)],
    "two in one header": header(f"Bearer {ADMIN_TOKEN}, Bearer {ADMIN_TOKEN}"),
    "dots": header("Bearer ..."),
    "two parts": header("Bearer e30.e30"),
    "no JSON": bearer(b".".join([base64url_encode(b"no"), base64url_encode(b"{}"), b"eA"])),
    "no object": bearer(b".".join([base64url_encode(b"[]"), base64url_encode(b"{}"), b"eA"])),
    "nested": bearer(b".".join([base64url_encode(b"[" * 20_000), base64url_encode(b"{}"), b"eA"])),
}


def wrong_claims() -> dict[str, dict[str, Any]]:
    now = int(time.time())
    return {
        "expired": claims(exp=now - LEEWAY_S - 1),
        "expired long ago": claims(exp=1),
        "never expires": claims(exp=None),
        "expires at no time": claims(exp="tomorrow"),
        "not yet valid": claims(nbf=now + HOUR_S),
        "issued later": claims(iat=now + HOUR_S),
        "another audience": claims(aud="another"),
        "no audience": claims(aud=None),
        "other audiences": claims(aud=["another", "third"]),
        "another issuer": claims(iss="https://another.example"),
        "issuer and more": claims(iss=f"{ISSUER}.evil.example"),
        "no issuer": claims(iss=None),
        "nobody": claims(sub=None),
        "empty name": claims(sub=""),
        "name of two lines": claims(sub="ada\nroot"),
        "endless name": claims(sub="a" * 201),
        "name that is no text": claims(sub=7),
    }


NOT_ADMINS = {
    "no role": claims(roles=None),
    "another role": claims(roles=["reader"]),
    "part of the role": claims(roles=["administrator", "adm"]),
    "role in another claim": claims(roles=None, role="admin"),
    "role of another shape": claims(roles={"admin": True}),
}


def made_up(
    head: Mapping[str, object], said: Mapping[str, object], sign: Callable[[bytes], bytes]
) -> str:
    """A token that no library would make."""
    signed = b".".join(base64url_encode(json.dumps(part).encode()) for part in (head, said))
    return (signed + b"." + base64url_encode(sign(signed))).decode()


def unsigned(_: bytes) -> bytes:
    return b""


def by_hmac(key: bytes) -> Callable[[bytes], bytes]:
    return lambda signed: hmac.digest(key, signed, "sha256")


@cache
def wrong_for_secret() -> dict[str, Headers]:
    head, said, signature = secret_token().split(".")
    other = base64url_encode(json.dumps(claims(sub="eve")).encode()).decode()
    forged = {
        "another secret": secret_token(secret="another secret, of as many bytes as ours"),
        "alg none": made_up({"alg": "none", "typ": "JWT"}, claims(), unsigned),
        "alg None": made_up({"alg": "None"}, claims(), unsigned),
        "alg none, signed": made_up({"alg": "none"}, claims(), by_hmac(SECRET.encode())),
        "no alg": made_up({"typ": "JWT"}, claims(), by_hmac(SECRET.encode())),
        "alg of a strange type": made_up({"alg": ["HS256"]}, claims(), by_hmac(SECRET.encode())),
        "another alg, right secret": jwt.encode(claims(), SECRET * 2, "HS512"),
        "asymmetric": jwt.encode(claims(), new_key(), "ES256"),
        "signature cut off": f"{head}.{said}.",
        "signature shortened": f"{head}.{said}.{signature[:-4]}",
        "other claims": f"{head}.{other}.{signature}",
        "unknown demands": made_up(
            {"alg": "HS256", "crit": ["x"], "x": 1}, claims(), by_hmac(SECRET.encode())
        ),
    }
    tokens = forged | {name: secret_token(said) for name, said in wrong_claims().items()}
    return WRONG_HEADERS | {name: bearer(token) for name, token in tokens.items()}


@cache
def wrong_for_keys(issuer: Issuer) -> dict[str, Headers]:
    public = issuer.keys["first"].public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    hs256 = {"alg": "HS256", "kid": "first"}
    mine = new_key()
    es256 = jwt.get_algorithm_by_name("ES256")

    def by_me(signed: bytes) -> bytes:
        return es256.sign(signed, mine)

    forged = {
        "HS256 with the public key": made_up(hs256, claims(), by_hmac(pem)),
        "HS256 with the published key": made_up(
            hs256, claims(), by_hmac(json.dumps(published(issuer.keys["first"], "first")).encode())
        ),
        "HS256 with nothing": made_up(hs256, claims(), by_hmac(b"")),
        "alg none": made_up({"alg": "none", "kid": "first"}, claims(), unsigned),
        "alg of another kind of key": made_up({"alg": "RS256", "kid": "first"}, claims(), by_me),
        "signed by another": issuer.token(key=mine),
        "signed by another key of theirs": issuer.token(key_id="first", key=issuer.keys["second"]),
        "unknown key": issuer.token(key_id="unknown", key=mine),
        "no key named": issuer.token(key_id="", key=issuer.keys["first"]),
        "key named by no text": made_up({"alg": "ES256", "kid": 1}, claims(), by_me),
        "brings its own key": made_up(
            {"alg": "ES256", "kid": "mine", "jwk": published(mine, "mine")}, claims(), by_me
        ),
        "says where its key is": made_up(
            {"alg": "ES256", "kid": "mine", "jku": "http://127.0.0.1:1/"}, claims(), by_me
        ),
    }
    tokens = forged | {name: issuer.token(said) for name, said in wrong_claims().items()}
    return WRONG_HEADERS | {name: bearer(token) for name, token in tokens.items()}


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


@pytest.mark.parametrize(
    ("claim", "held"),
    [
        ("admin", True),
        ("reader admin", True),
        (["reader", "admin"], True),
        ("administrator", False),
        ("", False),
        ([], False),
        (["admin reader"], False),
        ([["admin"]], False),
        ({"admin": "admin"}, False),
        (None, False),
        (True, False),
        (1, False),
    ],
)
async def test_a_role_is_read_from_a_text_or_a_list(claim: object, held: bool) -> None:
    assert names_role(claim, "admin") is held


async def test_the_claim_and_value_that_make_an_admin_are_settings() -> None:
    entrance = Entrance(
        create_app(
            settings_for_tests(
                NOWHERE,
                jwt_secret=SECRET,
                jwt_issuer=ISSUER,
                jwt_audience=AUDIENCE,
                jwt_admin_claim="scope",
                jwt_admin_value="assay:admin",
            )
        )
    )

    for said, status in (
        (claims(), 403),
        (claims(scope="openid assay:admin"), 204),
        (claims(scope="openid assay:adminx"), 403),
    ):
        answer = await entrance.ask("GET", "/api/admin/skills", bearer(secret_token(said)))
        assert answer.status == status


async def test_whoever_follows_is_cut_off_when_their_token_expires() -> None:
    async def endless() -> AsyncIterator[ServerSentEvent]:
        yield ServerSentEvent("news")
        await asyncio.Event().wait()

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    caller = Caller(name="ada", is_admin=True, expires_at=int(time.time()) + 1)
    async with asyncio.timeout(60):
        scope: Scope = {"type": "http", "method": "GET"}
        let_in(scope, caller)
        await EventStream(endless())(scope, receive, send)

    assert time.time() >= int(caller.expires_at or 0)
    assert b"news" in sent[1]["body"]
    assert sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False}


RULES = TokenRules(issuer=ISSUER, audience=AUDIENCE, admin_claim="roles", admin_value="admin")
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@given(
    head=st.dictionaries(st.sampled_from(["alg", "kid", "typ", "crit", "b64"]), JSON_VALUES),
    changed=st.dictionaries(st.sampled_from(list(claims())), JSON_VALUES),
)
@hypothesis_settings(derandomize=True, deadline=None, max_examples=60)
async def test_no_token_however_strange_is_more_than_refused(
    head: dict[str, object], changed: dict[str, object]
) -> None:
    """Rightly signed or not; what gets through is what says all that it must."""
    tokens = SignedTokens(SharedSecret(SecretStr(SECRET)), RULES)
    sign = by_hmac(SECRET.encode())

    assert await tokens.holder(made_up(head, claims(), sign).encode()) is None
    caller = await tokens.holder(made_up({"alg": "HS256"}, {**claims(), **changed}, sign).encode())
    said = {**claims(), **changed}
    if caller is not None:
        assert (caller.name, said["iss"]) == (said["sub"], ISSUER)
        assert AUDIENCE in (said["aud"] if isinstance(said["aud"], list) else [said["aud"]])
