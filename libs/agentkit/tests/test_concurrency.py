import asyncio
import time

import pytest

from assay_agentkit.concurrency import run_all, run_both


async def after(seconds: float, result: str) -> str:
    await asyncio.sleep(seconds)
    return result


async def failing(error: Exception) -> str:
    raise error


async def test_results_come_in_the_order_of_what_was_asked() -> None:
    assert await run_all([after(0.02, "late"), after(0, "early")]) == ["late", "early"]
    assert await run_both(after(0.01, "x"), asyncio.sleep(0, 3)) == ("x", 3)
    assert await run_all([]) == []


async def test_a_failure_stops_the_others_and_is_raised_as_itself() -> None:
    began = time.perf_counter()
    with pytest.raises(ValueError, match="broke"):
        await run_all([after(30, "never"), failing(ValueError("broke"))])
    with pytest.raises(ValueError, match="broke"):
        await run_both(failing(ValueError("broke")), after(30, "never"))
    assert time.perf_counter() - began < 10


async def test_being_cancelled_cancels_everything() -> None:
    work = asyncio.create_task(run_all([after(30, "never"), after(30, "never")]))
    await asyncio.sleep(0)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
