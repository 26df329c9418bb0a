"""A folder on disk for each sandbox, and sweeping up those whose owners died.

A sandbox's folder is locked by the process that owns it for as long as that process lives, so
whoever can take the lock knows that the owner is dead, in whichever container it lived.
"""

import fcntl
import json
import os
import secrets
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from assay_sandboxes.bubblewrap.host.folders import (
    HALF_MADE,
    HALF_MADE_FOR_S,
    age_s,
    remove_tree,
)
from assay_sandboxes.bubblewrap.host.memory_group import MemoryGroup
from assay_sandboxes.host_processes import start_time
from assay_sandboxes.names import check_name

_DEATH_S: Final = 5.0


class SandboxFolder:
    """The folder of one sandbox, owned by this process."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock = lock

    @classmethod
    def create(cls, sandboxes: Path, name: str) -> Self:
        """Make a folder for a sandbox of that name."""
        sandboxes.mkdir(parents=True, exist_ok=True, mode=0o700)
        identity = f"{check_name(name)}-{secrets.token_hex(4)}"
        # Locked before it gets its name: a sweep never sees it without its owner.
        half_made = sandboxes / f"{HALF_MADE}{identity}"
        half_made.mkdir(mode=0o700)
        lock = os.open(half_made / "owner", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        path = half_made.rename(sandboxes / identity)
        return cls(path, lock)

    @property
    def id(self) -> str:
        return self.path.name

    @property
    def log(self) -> Path:
        return self.path / "log"

    def record(self, processes: list[int], group: MemoryGroup | None) -> None:
        """Note what a sweep has to end if this process dies."""
        content = {
            "processes": [[pid, start_time(pid)] for pid in processes],
            "cgroup": str(group.path) if group else None,
        }
        (self.path / "record").write_text(json.dumps(content))

    async def remove(self) -> None:
        """Remove the folder and let go of it."""
        try:
            # What cannot be removed now, the next sweep tries again.
            with suppress(OSError):
                remove_tree(self.path)  # a handful of files
        finally:
            os.close(self._lock)


@dataclass(frozen=True, slots=True)
class Swept:
    """What came of sweeping."""

    removed: list[str]
    """The ids of the sandboxes that are gone."""
    stuck: list[str]
    """Why others are not."""


def sweep_sandboxes(sandboxes: Path) -> Swept:
    """End and remove the sandboxes whose owners are dead."""
    removed: list[str] = []
    stuck: list[str] = []
    for path in sorted(sandboxes.iterdir()) if sandboxes.exists() else []:
        try:
            if path.name.startswith(HALF_MADE):
                if age_s(path) > HALF_MADE_FOR_S:
                    remove_tree(path)
            elif _is_abandoned(path):
                _end(path)
                remove_tree(path)
                removed.append(path.name)
        except OSError as error:
            stuck.append(f"{path.name}: {error}")
    return Swept(removed, stuck)


def _is_abandoned(path: Path) -> bool:
    try:
        lock = os.open(path / "owner", os.O_RDWR)
    except (FileNotFoundError, NotADirectoryError):
        # Somebody is removing it, or died while removing it.
        return age_s(path) > HALF_MADE_FOR_S
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True


def _end(path: Path) -> None:
    try:
        record = json.loads((path / "record").read_text())
        processes, group = list(record["processes"]), record["cgroup"]
    except (OSError, ValueError, KeyError, TypeError):
        return  # it was not written whole
    for pid, started in processes:
        _kill(pid, started)
    if group:
        with suppress(OSError):
            MemoryGroup(Path(group)).remove()


def _kill(pid: int, started: int | None) -> None:
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        # The descriptor holds whoever has the number now; the start time tells who that is.
        if started is None or start_time(pid) != started:
            return
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        deadline = time.monotonic() + _DEATH_S
        while start_time(pid) == started and time.monotonic() < deadline:
            time.sleep(0.01)
    except (ProcessLookupError, PermissionError):
        return
    finally:
        os.close(descriptor)
