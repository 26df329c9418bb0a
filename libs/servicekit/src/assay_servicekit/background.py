import asyncio
import os
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager

import structlog

EXIT_TASK_LOST = 71

log = structlog.get_logger(__name__)


@asynccontextmanager
async def background(**loops: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Run endless `loops` beside the body.

    One that ends by itself ends the process: a service that answers and no longer does its work
    would look well and be dead, while a new process starts afresh.
    """
    tasks = [asyncio.create_task(loop, name=name) for name, loop in loops.items()]
    for task in tasks:
        task.add_done_callback(_must_not_end)
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _must_not_end(task: asyncio.Task[None]) -> None:
    if not task.cancelled():
        log.error("background_ended", task=task.get_name(), exc_info=task.exception())
        os._exit(EXIT_TASK_LOST)
