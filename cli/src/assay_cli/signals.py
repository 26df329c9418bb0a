"""Run until done, or until a signal asks to stop."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Final, TypeVar

from assay_cli.exit_codes import Interrupted

STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

T = TypeVar("T")


def run_until_stopped(work: Coroutine[object, object, T]) -> T:
    """Run `work` to its end. Raises Interrupted when a signal asked to stop.

    `work` is then cancelled, once: it ends in its own good order however often one asks.
    """
    return asyncio.run(_until_stopped(work))


async def _until_stopped(work: Coroutine[object, object, T]) -> T:
    loop = asyncio.get_running_loop()
    task = asyncio.create_task(work)
    received: list[signal.Signals] = []

    def stop(number: signal.Signals) -> None:
        if not received:
            task.cancel()
        received.append(number)

    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, stop, number)
    try:
        return await task
    except asyncio.CancelledError:
        if received:
            raise Interrupted(received[0]) from None
        raise
