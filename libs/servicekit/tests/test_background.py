"""Background work that ends takes its process with it."""

import subprocess
import sys

import pytest

PROGRAM = """
import asyncio
from assay_servicekit.background import background

async def endless() -> None:
    await asyncio.Event().wait()

async def ending() -> None:
    {ending}

async def main() -> None:
    async with background(first=endless(), second=ending()):
        await asyncio.wait_for(asyncio.Event().wait(), 20)

asyncio.run(main())
"""


@pytest.mark.parametrize("ending", ["return", "raise ValueError('boom')"])
def test_a_loop_that_ends_ends_the_process(ending: str) -> None:
    program = PROGRAM.format(ending=ending)
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert ended.returncode == 71
    assert b"background_ended" in ended.stdout + ended.stderr


async def test_loops_end_with_the_body() -> None:
    import asyncio

    from assay_servicekit.background import background

    ended = asyncio.Event()

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with background(loop=endless()):
        await asyncio.sleep(0)
    assert ended.is_set()
