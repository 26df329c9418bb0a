"""Keeping what a sandbox puts on the machine's disk within bounds."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

_PAUSE_S: Final = 0.5
_PAUSE_PER_COST: Final = 20
"""Looking takes at most a twentieth of the time."""


def bytes_on_disk(folder: Path, enough: int) -> int:
    """Bytes that a folder takes on disk; counting stops beyond `enough`.

    What its owner has shut is not counted.
    """
    total, pending = 0, [str(folder)]
    while pending and total <= enough:
        with suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                with suppress(OSError):
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
    return total


async def enforce_disk_quota(
    folder: Path, quota_bytes: int, end_all: Callable[[], Awaitable[None]]
) -> None:
    """Look from time to time; whenever there is more, end all that could add to it."""
    pause = _PAUSE_S
    while True:
        await asyncio.sleep(pause)
        began = time.monotonic()
        if await asyncio.to_thread(bytes_on_disk, folder, quota_bytes) > quota_bytes:
            await end_all()
        pause = max(_PAUSE_S, _PAUSE_PER_COST * (time.monotonic() - began))
