"""The keys of an issuer of tokens, from the address where it publishes them."""

import asyncio
import json
import math
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

import httpx
import jwt
import structlog

from assay_contracts.rpc import Problem, ProblemDetails, ProblemError

REFRESH_AFTER_S: Final = 300.0
LIFETIME_S: Final = 600.0
"""Keys older than this count for nothing, so a key that was withdrawn lives no longer than this."""
UNKNOWN_KEY_AFTER_S: Final = 30.0
"""How soon a token of an unknown key may have the keys fetched again: anybody can make one up."""
RETRY_AFTER_S: Final = 5.0
TIMEOUT_S: Final = 5.0
MAX_BYTES: Final = 256 * 1024

log = structlog.get_logger(__name__)


class KeysUnavailable(ConnectionError):
    """The issuer's keys cannot be had."""


class PublishedKeys:
    """An async context manager over the keys at one address, which must be asymmetric.

    Keys are fetched when they are asked for, once for all who wait, and not waited for while those
    at hand count and have the one that is asked for.
    """

    def __init__(
        self,
        url: str,
        algorithms: tuple[str, ...],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._url = url
        self._algorithms = algorithms
        self._clock = clock
        self._http = httpx.AsyncClient(timeout=TIMEOUT_S)
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched_at = float("-inf")
        self._tried_at = float("-inf")
        self._unknown_at = float("-inf")
        self._failed = False
        """Whether the last fetch did."""
        self._fetching: asyncio.Task[None] | None = None

    @property
    def algorithms(self) -> tuple[str, ...]:
        return self._algorithms

    async def __aenter__(self) -> Self:
        self._start_fetching()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._fetching is not None:
            self._fetching.cancel()
            await asyncio.wait([self._fetching])
        await self._http.aclose()

    async def check(self) -> None:
        """Raises KeysUnavailable unless there are keys that count."""
        await self._refresh()
        if not self._count():
            raise KeysUnavailable("the keys that tokens are checked with cannot be fetched")

    async def find(self, token: bytes, /) -> jwt.PyJWK:
        header = jwt.get_unverified_header(token)
        if header.get("alg") not in self._algorithms:
            raise jwt.InvalidAlgorithmError("not one of the algorithms that are set")
        key_id = header.get("kid")
        if not key_id:
            raise jwt.InvalidKeyError("no key is named")
        await self._refresh()
        if not self._count():
            raise _unavailable()
        if key_id not in self._keys and self._clock() - self._unknown_at >= UNKNOWN_KEY_AFTER_S:
            self._unknown_at = self._clock()
            await self._fetched()
        if key_id in self._keys:
            return self._keys[key_id]
        if self._failed:
            raise _unavailable()
        raise jwt.InvalidKeyError("the issuer has no such key")

    def _count(self) -> bool:
        return self._age_s() < LIFETIME_S

    def _age_s(self) -> float:
        return self._clock() - self._fetched_at

    async def _refresh(self) -> None:
        """Fetch the keys if it is time to, and wait for them if there are none that count."""
        due = self._age_s() >= REFRESH_AFTER_S
        if due and self._clock() - self._tried_at >= RETRY_AFTER_S:
            self._start_fetching()
        if self._fetching is not None and not self._count():
            await self._fetched()

    async def _fetched(self) -> None:
        # Whoever waits may be cut off, as readiness is; the others still want the keys.
        await asyncio.shield(self._start_fetching())

    def _start_fetching(self) -> asyncio.Task[None]:
        if self._fetching is None:
            self._tried_at = self._clock()
            self._fetching = asyncio.create_task(self._fetch())
        return self._fetching

    async def _fetch(self) -> None:
        try:
            async with asyncio.timeout(TIMEOUT_S):
                self._keys = self._usable(json.loads(await self._document()))
        except (httpx.HTTPError, OSError, ValueError) as error:
            log.warning("keys_not_fetched", reason=f"{type(error).__name__}: {error}")
            self._failed = True
        else:
            self._failed = False
            self._fetched_at = self._clock()
        finally:
            self._fetching = None

    async def _document(self) -> bytes:
        content = bytearray()
        # Not packed, so that what is counted is what it takes up.
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        async with self._http.stream("GET", self._url, headers=headers) as response:
            response.raise_for_status()
            async for chunk in response.aiter_raw():
                content += chunk
                if len(content) > MAX_BYTES:
                    raise KeysUnavailable(f"more than {MAX_BYTES} bytes")
        return bytes(content)

    def _usable(self, document: object) -> dict[str, jwt.PyJWK]:
        """Raises KeysUnavailable if there is no key for any of the algorithms."""
        published = document.get("keys") if isinstance(document, dict) else None
        keys: dict[str, jwt.PyJWK] = {}
        for data in published if isinstance(published, list) else []:
            with suppress(jwt.PyJWTError):
                key = jwt.PyJWK(data if isinstance(data, dict) else {})
                signs = key.public_key_use in (None, "sig")
                if key.key_id and signs and key.algorithm_name in self._algorithms:
                    keys[key.key_id] = key
        if not keys:
            raise KeysUnavailable(f"no key with an id for {', '.join(self._algorithms)}")
        return keys


def _unavailable() -> ProblemError:
    return ProblemError(
        Problem(
            code="SERVICE_UNAVAILABLE",
            message="The keys that tokens are checked with cannot be fetched. Try again shortly.",
            details=ProblemDetails(retry_after_s=math.ceil(RETRY_AFTER_S)),
        )
    )
