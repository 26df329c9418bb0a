"""What a token must say, and for how long it counts."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pydantic import SecretStr
from sse_starlette import ServerSentEvent
from starlette.types import Message, Scope

from assay_gateway.adapters.http.admin import let_in
from assay_gateway.adapters.http.server_sent_events import EventStream
from assay_gateway.adapters.tokens import SharedSecret, SignedTokens, TokenRules
from assay_gateway.app import create_app
from assay_gateway.domain.callers import Caller, names_role
from assay_testkit.gateway.entrance import Entrance, bearer
from assay_testkit.gateway.running import settings_for_tests
from assay_testkit.gateway.tokens import (
    AUDIENCE,
    ISSUER,
    SECRET,
    claims,
    secret_token,
)
from assay_testkit.gateway.wrong_tokens import by_hmac, made_up

pytestmark = pytest.mark.asyncio(loop_scope="module")

NOWHERE = "nats://nowhere"


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
