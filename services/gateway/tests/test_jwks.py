"""Keys that an issuer publishes: fetched, kept for a while, changed, and away."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator

import httpx
import jwt
import pytest
import pytest_asyncio
from cryptography.hazmat.primitives.asymmetric import rsa

from assay_contracts.rpc import ProblemError
from assay_gateway.adapters.jwks import (
    LIFETIME_S,
    MAX_BYTES,
    REFRESH_AFTER_S,
    RETRY_AFTER_S,
    UNKNOWN_KEY_AFTER_S,
    KeysUnavailable,
    PublishedKeys,
)
from assay_testkit.gateway.running import ADMIN_TOKEN, running_gateway
from assay_testkit.gateway.tokens import AUDIENCE, ISSUER, Issuer, new_key, published
from assay_testkit.servers import RunningNats
from assay_testkit.waiting import until

pytestmark = pytest.mark.asyncio(loop_scope="module")

ALGORITHMS = ("ES256", "RS256")


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with Issuer() as issuer:
        yield issuer


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest_asyncio.fixture(loop_scope="module")
async def keys(issuer: Issuer, clock: Clock) -> AsyncIterator[PublishedKeys]:
    async with PublishedKeys(issuer.url, ALGORITHMS, clock=clock) as keys:
        await keys.check()
        yield keys


async def finds(keys: PublishedKeys, token: str) -> bool:
    try:
        jwt.decode(token, await keys.find(token.encode()), algorithms=ALGORITHMS, audience=AUDIENCE)
    except jwt.PyJWTError:
        return False
    return True


async def is_unavailable(keys: PublishedKeys, token: str) -> bool:
    try:
        await keys.find(token.encode())
    except ProblemError as error:
        problem = error.problem
        return problem.code == "SERVICE_UNAVAILABLE" and bool(problem.details.retry_after_s)
    except jwt.PyJWTError:
        return False
    return False


async def test_keys_are_fetched_once_and_kept(keys: PublishedKeys, issuer: Issuer) -> None:
    for _ in range(10):
        assert await finds(keys, issuer.token())

    assert issuer.fetched == 1


async def test_all_who_wait_for_keys_share_one_fetch(issuer: Issuer) -> None:
    async with PublishedKeys(issuer.url, ALGORITHMS) as keys:
        assert all(await asyncio.gather(*(finds(keys, issuer.token()) for _ in range(50))))

    assert issuer.fetched == 1


async def test_a_new_key_is_found_at_once_and_the_old_one_forgotten(
    keys: PublishedKeys, issuer: Issuer
) -> None:
    old = issuer.token()
    issuer.keys = {"second": new_key()}

    assert await finds(keys, issuer.token())
    assert not await finds(keys, old)


async def test_made_up_keys_cause_few_fetches(
    keys: PublishedKeys, issuer: Issuer, clock: Clock
) -> None:
    for number in range(100):
        assert not await finds(keys, issuer.token(key_id=f"made-up-{number}", key=new_key()))
    assert issuer.fetched == 2

    clock.now += UNKNOWN_KEY_AFTER_S
    for number in range(100):
        assert not await finds(keys, issuer.token(key_id=f"made-up-{number}", key=new_key()))
    assert issuer.fetched == 3
    assert await finds(keys, issuer.token())


async def test_keys_are_fetched_again_before_they_are_too_old(
    keys: PublishedKeys, issuer: Issuer, clock: Clock
) -> None:
    old = issuer.token()
    issuer.keys = {"second": new_key()}
    clock.now += REFRESH_AFTER_S

    assert await finds(keys, old)  # and nobody waited for the new ones
    await until(lambda: issuer.fetched == 2, why="the keys are fetched again")
    assert await finds(keys, issuer.token())
    assert issuer.fetched == 2
    assert not await finds(keys, old)


async def test_an_issuer_that_is_away_for_a_while_is_not_missed(
    keys: PublishedKeys, issuer: Issuer, clock: Clock
) -> None:
    issuer.stop()
    clock.now += LIFETIME_S - 1

    assert await finds(keys, issuer.token())
    await keys.check()
    assert await is_unavailable(keys, issuer.token(key_id="perhaps new"))


async def test_an_issuer_that_stays_away_lets_nobody_in(
    keys: PublishedKeys, issuer: Issuer, clock: Clock
) -> None:
    issuer.stop()
    clock.now += LIFETIME_S

    assert await is_unavailable(keys, issuer.token())
    with pytest.raises(KeysUnavailable):
        await keys.check()

    issuer.start()
    assert await is_unavailable(keys, issuer.token())  # it was tried a moment ago
    clock.now += RETRY_AFTER_S
    assert await finds(keys, issuer.token())
    await keys.check()


async def test_an_issuer_that_is_slow_is_waited_for_only_by_those_who_need_it(
    keys: PublishedKeys, issuer: Issuer, clock: Clock
) -> None:
    issuer.hold.clear()
    clock.now += REFRESH_AFTER_S
    async with asyncio.timeout(60):
        assert await finds(keys, issuer.token())
        await until(lambda: issuer.fetched == 2, why="the keys are asked for again")
        assert await finds(keys, issuer.token())
    # Whoever gives up, as readiness does, takes nothing from the others.
    waiting = asyncio.create_task(finds(keys, issuer.token(key_id="second", key=new_key())))
    await asyncio.sleep(0)
    waiting.cancel()
    issuer.hold.set()
    issuer.keys["second"] = new_key()
    token = issuer.token()

    async def is_found_later() -> bool:
        clock.now += UNKNOWN_KEY_AFTER_S
        return not await is_unavailable(keys, token) and await finds(keys, token)

    await until(is_found_later, why="the new key is found")


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (500, None),
        (404, None),
        (302, None),
        (200, b""),
        (200, b"no JSON"),
        (200, b"[]"),
        (200, b"{}"),
        (200, b'{"keys": {}}'),
        (200, b'{"keys": []}'),
        (200, b'{"keys": [1, "a", {}, {"kty": "RSA"}, {"kty": "EC", "kid": "first"}]}'),
        (200, b" " * (MAX_BYTES + 1)),
        (200, b"\xff\xfe"),
    ],
)
async def test_an_answer_without_keys_is_none(
    issuer: Issuer, status: int, body: bytes | None
) -> None:
    issuer.status, issuer.body = status, body
    async with PublishedKeys(issuer.url, ALGORITHMS) as keys:
        assert await is_unavailable(keys, issuer.token())
        with pytest.raises(KeysUnavailable):
            await keys.check()


async def test_only_keys_that_sign_and_that_are_asymmetric_are_taken(issuer: Issuer) -> None:
    symmetric = {"kty": "oct", "kid": "shared", "k": "c2VjcmV0" * 8}
    encrypts, curve = new_key(), new_key()
    rs256 = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    short = rsa.generate_private_key(public_exponent=65537, key_size=1024)  # noqa: S505  # to be refused
    issuer.others = [
        symmetric,
        {**symmetric, "kid": "posing", "alg": "ES256"},
        {**published(encrypts, "encrypts"), "use": "enc"},
        {**published(curve, "named otherwise"), "alg": "ES384"},
        published(rs256, "rs256"),
        published(short, "short"),
    ]
    secret = jwt.PyJWK(symmetric).key
    shared = [
        jwt.encode({"aud": AUDIENCE}, secret, "HS256", headers={"kid": key_id})
        for key_id in ("shared", "posing")
    ]
    async with PublishedKeys(issuer.url, ALGORITHMS) as keys:
        assert await finds(keys, issuer.token())
        assert await finds(keys, issuer.token(key_id="rs256", key=rs256))
        assert not await finds(keys, issuer.token(key_id="encrypts", key=encrypts))
        assert not await finds(keys, issuer.token(key_id="named otherwise", key=curve))
        assert [await finds(keys, token) for token in shared] == [False, False]


async def test_the_gateway_while_its_issuer_is_away(
    nats_server: RunningNats, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay_gateway.adapters.jwks.RETRY_AFTER_S", 0.2)
    with Issuer() as issuer:
        issuer.stop()
        async with (
            running_gateway(
                nats_server.url("gateway"),
                jwks_url=issuer.url,
                jwt_issuer=ISSUER,
                jwt_audience=AUDIENCE,
            ) as url,
            httpx.AsyncClient(base_url=url, timeout=30) as client,
        ):

            async def ask(token: str) -> httpx.Response:
                headers = {"Authorization": f"Bearer {token}"}
                return await client.get("/api/admin/skills?size=0", headers=headers)

            away = await ask(issuer.token())
            assert (away.status_code, away.json()["code"]) == (503, "SERVICE_UNAVAILABLE")
            assert int(away.headers["Retry-After"]) > 0
            assert (await ask("wrong")).status_code == 401
            assert (await ask(ADMIN_TOKEN)).status_code == 422
            ready = await client.get("/readyz")
            assert ready.status_code == 503
            assert set(ready.json()["missing"]) == {"keys of tokens", "scorer", "ingest"}
            assert json.dumps(issuer.url) not in ready.text

            issuer.start()

            async def is_answered() -> bool:
                return (await ask(issuer.token())).status_code != 503

            await until(is_answered, why="the issuer's keys are fetched")
            assert (await ask(issuer.token())).status_code == 422
            assert (await client.get("/readyz")).status_code == 200
            issuer.keys = {"second": new_key()}
            assert (await ask(issuer.token())).status_code == 422
