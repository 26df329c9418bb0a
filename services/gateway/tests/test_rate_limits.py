"""How often one address may fail to sign in, and one caller upload."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio

from assay_contracts.rpc import ProblemError
from assay_gateway.domain.callers import Caller, one_client
from assay_gateway.domain.rate_limit import RateLimit
from assay_gateway.use_cases.authentication import TRUSTED_S, Authenticate
from assay_testkit.gateway.running import ADMIN_TOKEN, running_gateway
from assay_testkit.gateway.services import Ingest
from assay_testkit.gateway.tokens import AUDIENCE, ISSUER, SECRET, claims, secret_token
from assay_testkit.servers import RunningNats

pytestmark = pytest.mark.asyncio(loop_scope="module")

SKILLS = "/api/admin/skills?size=0"
"""Answered 422 to whoever is let in, without asking anybody."""
UPLOAD = "/api/admin/skills/upload"
SIGNED = {"jwt_secret": SECRET, "jwt_issuer": ISSUER, "jwt_audience": AUDIENCE}


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


async def test_so_many_a_minute_at_once_or_spread() -> None:
    clock = Clock()
    limit = RateLimit(6, clock=clock)

    for _ in range(6):
        limit.admit("ada", "Slowly.")
    with pytest.raises(ProblemError) as refused:
        limit.admit("ada", "Slowly.")
    limit.admit("bob", "Slowly.")

    assert refused.value.problem.code == "RATE_LIMITED"
    assert refused.value.problem.details.retry_after_s == 10
    assert refused.value.problem.message == "Slowly. Try again in 10 s."
    clock.now += 10
    limit.admit("ada", "Slowly.")
    assert limit.wait_s("ada") == pytest.approx(10)
    clock.now += 60
    assert limit.wait_s("ada") == 0


async def test_no_more_is_kept_than_fits_and_nothing_that_no_longer_matters() -> None:
    clock = Clock()
    limit = RateLimit(1, max_keys=100, clock=clock)

    for number in range(1_000):
        limit.count(str(number))
    assert len(limit) == 100
    assert limit.wait_s("999") > 0

    clock.now += 61
    limit.count("late")
    assert len(limit) == 1


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("192.0.2.1", "192.0.2.2", False),
        ("192.0.2.1", "::ffff:192.0.2.1", True),
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("fe80::1%eth0", "fe80::1%eth1", True),
        ("a socket", "another", False),
    ],
)
async def test_which_addresses_are_one_client(one: str, other: str, alike: bool) -> None:
    assert (one_client(one) == one_client(other)) is alike


class OneToken:
    """Proves who ada is, until it is withdrawn or expires."""

    def __init__(self, expires_at: int | None) -> None:
        self.caller: Caller | None = Caller(name="ada", is_admin=True, expires_at=expires_at)
        self.checked = 0

    async def holder(self, token: bytes) -> Caller | None:
        self.checked += 1
        return self.caller if token == b"right" else None


@pytest.mark.parametrize(
    ("expires_in_s", "trusted_s"), [(None, TRUSTED_S), (5, 5), (10**400, TRUSTED_S)]
)
async def test_a_right_token_is_trusted_for_a_while_but_never_after_it_expires(
    expires_in_s: int | None, trusted_s: float
) -> None:
    clock = Clock()
    tokens = OneToken(None if expires_in_s is None else int(clock.now) + expires_in_s)
    authenticate = Authenticate(tokens=[tokens], failures=RateLimit(1), clock=clock)

    await authenticate(b"right", "192.0.2.1")
    tokens.caller = None
    clock.now += trusted_s - 0.5
    assert (await authenticate(b"right", "192.0.2.1")).name == "ada"
    assert tokens.checked == 1
    clock.now += 0.5
    with pytest.raises(ProblemError, match="needs a valid token"):
        await authenticate(b"right", "192.0.2.1")
    assert tokens.checked == 2
    # From now on it is a guess like any other.
    with pytest.raises(ProblemError, match="Too many tokens"):
        await authenticate(b"right", "192.0.2.1")
    assert tokens.checked == 2


@pytest_asyncio.fixture(loop_scope="module")
async def client(nats_server: RunningNats) -> AsyncIterator[httpx.AsyncClient]:
    """Of a gateway that takes no more than one failure a minute, behind a proxy it trusts."""
    async with (
        running_gateway(
            nats_server.url("gateway"),
            auth_failures_per_minute=1,
            trusted_proxies="127.0.0.1",
            **SIGNED,
        ) as url,
        httpx.AsyncClient(base_url=url, timeout=30) as client,
    ):
        yield client


async def ask(client: httpx.AsyncClient, token: str | None, came_from: str) -> httpx.Response:
    headers = {"X-Forwarded-For": came_from}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}".strip()
    return await client.get(SKILLS, headers=headers)


async def test_failures_are_limited_and_nobody_at_work_is_locked_out(
    client: httpx.AsyncClient,
) -> None:
    guesser, elsewhere = "192.0.2.1", "192.0.2.2"
    assert (await ask(client, ADMIN_TOKEN, guesser)).status_code == 422
    assert (await ask(client, "wrong", guesser)).status_code == 401

    refused = await ask(client, "wrong", guesser)

    assert (refused.status_code, refused.json()["code"]) == (429, "RATE_LIMITED")
    assert 0 < int(refused.headers["Retry-After"]) <= 60
    assert refused.json()["details"] == {"retry_after_s": int(refused.headers["Retry-After"])}
    # A token not seen before may be a guess that is right: it is not even looked at.
    assert (await ask(client, secret_token(), guesser)).status_code == 429
    assert (await ask(client, ADMIN_TOKEN, guesser)).status_code == 422
    assert (await ask(client, secret_token(), elsewhere)).status_code == 422
    assert (await ask(client, None, guesser)).status_code == 401


async def test_what_is_no_guess_is_not_counted(client: httpx.AsyncClient) -> None:
    address = "192.0.2.3"
    reader = secret_token(claims(roles=[]))
    for _ in range(10):
        assert (await ask(client, None, address)).status_code == 401
        assert (await ask(client, "", address)).status_code == 401
        assert (await ask(client, reader, address)).status_code == 403

    assert (await ask(client, "wrong", address)).status_code == 401


async def test_only_a_proxy_that_is_trusted_says_where_a_request_came_from(
    nats_server: RunningNats,
) -> None:
    async with (
        running_gateway(nats_server.url("gateway"), auth_failures_per_minute=1) as url,
        httpx.AsyncClient(base_url=url, timeout=30) as client,
    ):
        statuses = [
            (await ask(client, "wrong", f"192.0.2.{number}")).status_code for number in range(2)
        ]

    assert statuses == [401, 429]


async def test_uploads_are_counted_for_each_caller(
    nats_server: RunningNats, ingest: Ingest
) -> None:
    async def upload(client: httpx.AsyncClient, name: str) -> httpx.Response:
        headers = {"Authorization": f"Bearer {secret_token(claims(sub=name))}"}
        return await client.post(UPLOAD, files={"file": ("a.zip", b"PK")}, headers=headers)

    async with (
        running_gateway(nats_server.url("gateway"), uploads_per_minute=1, **SIGNED) as url,
        httpx.AsyncClient(base_url=url, timeout=30) as client,
    ):
        answers = await asyncio.gather(*(upload(client, "ada") for _ in range(3)))
        other = await upload(client, "bob")

    assert sorted(answer.status_code for answer in answers) == [200, 429, 429]
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert refused.json()["code"] == "RATE_LIMITED"
    assert 0 < int(refused.headers["Retry-After"]) <= 60
    assert other.status_code == 200
    assert len(ingest.asked) == 2
