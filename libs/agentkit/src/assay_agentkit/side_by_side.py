"""Doing several things at once, with one plain failure if any of them fails."""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import TypeVar

T = TypeVar("T")
U = TypeVar("U")


async def together(works: Iterable[Coroutine[None, None, T]]) -> list[T]:
    """Run all side by side; the first failure stops the others and is raised as itself."""
    try:
        async with asyncio.TaskGroup() as group:
            running = [group.create_task(work) for work in works]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in running]


async def both(one: Coroutine[None, None, T], other: Coroutine[None, None, U]) -> tuple[T, U]:
    """As `together`, for two things of different kinds."""
    try:
        async with asyncio.TaskGroup() as group:
            first, second = group.create_task(one), group.create_task(other)
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return first.result(), second.result()
