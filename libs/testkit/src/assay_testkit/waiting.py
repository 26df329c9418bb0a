"""Waiting for something to become so: the one way, instead of sleeps and loops of a test's own."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar, overload

T = TypeVar("T")

Errors = type[Exception] | tuple[type[Exception], ...]

DEFAULT_TIMEOUT_S = 10.0
DEFAULT_INTERVAL_S = 0.02


@overload
async def until(
    predicate: Callable[[], Awaitable[T | None]],
    *,
    why: str,
    timeout_s: float = ...,
    every_s: float = ...,
    ignoring: Errors = ...,
) -> T: ...


@overload
async def until(
    predicate: Callable[[], T | None],
    *,
    why: str,
    timeout_s: float = ...,
    every_s: float = ...,
    ignoring: Errors = ...,
) -> T: ...


async def until(
    predicate: Callable[[], object],
    *,
    why: str,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    every_s: float = DEFAULT_INTERVAL_S,
    ignoring: Errors = (),
) -> object:
    """The first truthy value that `predicate`, a plain or an async callable, returns.

    Args:
        predicate: Asked at once, then every `every_s` seconds.
        why: What is waited for, as a sentence that the failure shows: "the gateway is ready".
        timeout_s: How long to wait, one slow answer of `predicate` included.
        every_s: Seconds between two questions.
        ignoring: Exceptions of `predicate` that mean "not yet". Others pass through at once.

    Raises:
        AssertionError: It did not become so in time; says `why` and what was seen last.
    """
    last_seen: object = None
    try:
        async with asyncio.timeout(timeout_s) as waiting:
            while True:
                try:
                    answer = predicate()
                    last_seen = await answer if inspect.isawaitable(answer) else answer
                except ignoring as error:
                    last_seen = error
                else:
                    if last_seen:
                        return last_seen
                await asyncio.sleep(every_s)
    except TimeoutError:
        if not waiting.expired():
            raise
        raise AssertionError(_in_vain(why, timeout_s, last_seen)) from None


def until_sync(
    predicate: Callable[[], T | None],
    *,
    why: str,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    every_s: float = DEFAULT_INTERVAL_S,
    ignoring: Errors = (),
) -> T:
    """As `until`, for tests without an event loop. It cannot cut a slow answer short."""
    deadline = time.monotonic() + timeout_s
    last_seen: object = None
    while True:
        try:
            answer = predicate()
        except ignoring as error:
            last_seen = error
        else:
            if answer:
                return answer
            last_seen = answer
        if time.monotonic() >= deadline:
            raise AssertionError(_in_vain(why, timeout_s, last_seen))
        time.sleep(every_s)


def _in_vain(why: str, timeout_s: float, last_seen: object) -> str:
    return f"waited {timeout_s:g} s in vain: {why} (last seen: {last_seen!r})"
