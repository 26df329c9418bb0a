import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from assay_servicekit.background import background
from assay_servicekit.periodic import Periodic, periodic
from assay_servicekit.questions import Unavailable

NEVER = timedelta(hours=1)
AT_ONCE = timedelta(0)


class Rounds:
    """Counts the rounds, and fails those for which there is an error."""

    def __init__(self, *errors: Exception | None) -> None:
        self._errors = iter(errors)
        self._count = 0
        self._changed = asyncio.Condition()

    async def __call__(self) -> int:
        async with self._changed:
            self._count += 1
            self._changed.notify_all()
        if error := next(self._errors, None):
            raise error
        return self._count

    async def reach(self, count: int) -> None:
        async with asyncio.timeout(5), self._changed:
            await self._changed.wait_for(lambda: self._count >= count)

    @property
    def count(self) -> int:
        return self._count


@asynccontextmanager
async def running(worker: Periodic) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(worker.run())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_the_first_round_is_now() -> None:
    rounds = Rounds()
    async with running(periodic("test", rounds, every=NEVER)):
        await rounds.reach(1)


async def test_rounds_follow_each_other_by_the_clock() -> None:
    rounds = Rounds()
    async with running(periodic("test", rounds, every=timedelta(milliseconds=1))):
        await rounds.reach(5)


async def test_a_wake_does_not_wait_for_the_clock() -> None:
    rounds = Rounds()
    worker = periodic("test", rounds, every=NEVER)
    async with running(worker):
        await rounds.reach(1)
        worker.wake()
        await rounds.reach(2)


async def test_without_a_clock_there_are_rounds_only_when_woken() -> None:
    rounds = Rounds()
    worker = periodic("test", rounds, every=None)
    async with running(worker):
        await asyncio.sleep(0.02)
        assert rounds.count == 0
        for count in (1, 2):
            worker.wake()
            await rounds.reach(count)


async def test_a_wake_during_a_round_is_not_lost() -> None:
    begun, go_on, rounds = asyncio.Event(), asyncio.Event(), Rounds()

    async def slow_round() -> None:
        begun.set()
        await go_on.wait()
        await rounds()

    worker = periodic("test", slow_round, every=NEVER)
    async with running(worker):
        await begun.wait()
        worker.wake()
        go_on.set()
        await rounds.reach(2)


async def test_many_who_wake_it_at_once_share_a_round() -> None:
    rounds = Rounds()
    worker = periodic("test", rounds, every=NEVER, min_pause=timedelta(milliseconds=20))
    async with running(worker):
        await rounds.reach(1)
        for _ in range(100):
            worker.wake()
            await asyncio.sleep(0)
        await rounds.reach(2)
    assert rounds.count == 2


@pytest.mark.parametrize("error", [Unavailable("away"), TimeoutError("late"), OSError("gone")])
async def test_a_transient_failure_is_told_and_tried_again(error: Exception) -> None:
    rounds = Rounds(error)
    with capture_logs() as logs:
        async with running(periodic("relay", rounds, every=timedelta(milliseconds=1))):
            await rounds.reach(2)
    assert logs == [
        {
            "event": "round_failed",
            "log_level": "warning",
            "worker": "relay",
            "error": f"{type(error).__name__}: {error}",
        }
    ]


async def test_what_passes_by_itself_can_be_chosen() -> None:
    rounds = Rounds(KeyError("mine"))
    worker = periodic("test", rounds, every=AT_ONCE, transient=(KeyError,))
    async with running(worker):
        await rounds.reach(2)


async def test_an_unknown_error_ends_the_loop() -> None:
    async with running(periodic("test", Rounds(ValueError("boom")), every=AT_ONCE)) as task:
        await asyncio.wait([task], timeout=5)
        assert isinstance(task.exception(), ValueError)


def test_an_unknown_error_ends_the_service() -> None:
    program = """
import asyncio
from datetime import timedelta
from assay_servicekit.background import background
from assay_servicekit.periodic import periodic

async def fail() -> None:
    raise ValueError("boom")

async def main() -> None:
    async with background(worker=periodic("worker", fail, every=timedelta(hours=1)).run()):
        await asyncio.wait_for(asyncio.Event().wait(), 20)

asyncio.run(main())
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert ended.returncode == 71
    assert b"background_ended" in ended.stdout + ended.stderr


async def test_it_ends_with_its_service_in_the_middle_of_a_round() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def long_round() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with background(worker=periodic("test", long_round, every=NEVER).run()):
        await begun.wait()
    assert ended.is_set()
