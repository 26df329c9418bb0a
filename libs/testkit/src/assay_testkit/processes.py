"""This machine's processes: what a test sees of them, and that they end."""

import gc
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


def processes_with(marker: str) -> list[int]:
    """The machine's processes that have `marker` in their command line."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and marker.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def children_of(pid: int) -> list[int]:
    """Of its first thread."""
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in listed.split()]


def open_descriptors(pid: int | None = None) -> int:
    """How many a process has; this one, where none is named."""
    gc.collect()  # what other tests let go of
    return len(list(Path(f"/proc/{pid or os.getpid()}/fd").iterdir()))
