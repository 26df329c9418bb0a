"""Running several coroutines at once, with one plain failure if any of them fails."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import TypeVar

T = TypeVar("T")
U = TypeVar("U")


async def run_all(works: Iterable[Coroutine[None, None, T]]) -> list[T]:
    """The results in order; the first failure stops the others and is raised as itself."""
    async with _raising_first_failure() as group:
        running = [group.create_task(work) for work in works]
    return [task.result() for task in running]


async def run_both(one: Coroutine[None, None, T], other: Coroutine[None, None, U]) -> tuple[T, U]:
    """As `run_all`, for two coroutines with results of different types."""
    async with _raising_first_failure() as group:
        first, second = group.create_task(one), group.create_task(other)
    return first.result(), second.result()


@asynccontextmanager
async def _raising_first_failure() -> AsyncIterator[asyncio.TaskGroup]:
    try:
        async with asyncio.TaskGroup() as group:
            yield group
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
