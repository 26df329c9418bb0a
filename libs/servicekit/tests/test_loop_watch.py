"""An event loop that is held up is noticed, told and not ready."""

import asyncio
import time

import pytest
import structlog
from prometheus_client import REGISTRY

from assay_servicekit.loop_watch import BEAT_S, LoopWatch
from assay_servicekit.questions import Unavailable
from assay_testkit.waiting import until


def hold_the_loop_up() -> None:
    time.sleep(1.5)  # what is tested: nothing else turns meanwhile


async def test_a_loop_that_was_held_up_is_not_ready_for_a_while() -> None:
    watch = LoopWatch(held_up_s=0.5, remembered_s=2.0)
    with structlog.testing.capture_logs() as logs:
        async with watch.watching():
            await watch.check()
            hold_the_loop_up()
            await until(lambda: bool(watch._bad), why="the lag is measured")
            with pytest.raises(Unavailable, match="stood still"):
                await watch.check()

            async def is_ready() -> bool:
                await watch.check()
                return True

            await until(is_ready, why="it is ready again", ignoring=Unavailable)
    told = next(each for each in logs if each["event"] == "loop_is_held_up")
    assert any("hold_the_loop_up" in place for place in told["where"])
    assert (REGISTRY.get_sample_value("assay_loop_lag_seconds_sum") or 0) > 1.0


async def test_a_loop_that_turns_is_ready() -> None:
    watch = LoopWatch(held_up_s=5.0)
    async with watch.watching():
        await asyncio.sleep(2 * BEAT_S)
        await watch.check()
        assert watch.alive()
