"""Processes that a test must see the end of."""

import os
import select
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LONGEST_END_S = 20.0


def descendants(pid: int) -> list[int]:
    """The process and all that came of it."""
    found = [pid]
    for one in found:
        for task in Path(f"/proc/{one}/task").iterdir():
            found += map(int, (task / "children").read_text().split())
    return found


def has_ended(pidfd: int, timeout_s: float = LONGEST_END_S) -> bool:
    """Whether the process behind this descriptor ends in time, be it unburied."""
    return bool(select.select([pidfd], [], [], timeout_s)[0])


@contextmanager
def ended_after(pids: list[int]) -> Iterator[None]:
    """Every one of these processes has ended soon after the body."""
    descriptors = [os.pidfd_open(pid) for pid in pids]
    yield
    deadline = time.monotonic() + LONGEST_END_S
    for descriptor in descriptors:
        left_s = max(0.0, deadline - time.monotonic())
        assert has_ended(descriptor, left_s), "a process was left running"
        os.close(descriptor)
