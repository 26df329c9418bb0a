"""Whose a remote sandbox is: its labels say so, so that others know when its owner is dead."""

import hashlib
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Self

from assay_sandboxes.host_processes import start_time


@dataclass(frozen=True, slots=True)
class LeaseOwner:
    """A process, for all places and times."""

    place: str
    """The one namespace of process ids, on the one boot of the one machine."""
    pid: int
    started: int

    @classmethod
    def this(cls) -> Self:
        return cls(_place(), os.getpid(), start_time(os.getpid()) or 0)

    @classmethod
    def parse(cls, text: str) -> Self | None:
        try:
            place, pid, started = text.split(".")
            return cls(place, int(pid), int(started))
        except ValueError:
            return None

    def __str__(self) -> str:
        return f"{self.place}.{self.pid}.{self.started}"

    def is_known_dead(self) -> bool:
        """Whether it is certain to be dead; of another place's processes nothing is known."""
        return self.place == _place() and start_time(self.pid) != self.started


@cache
def _place() -> str:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    namespace = Path("/proc/self/ns/pid").readlink()
    return hashlib.sha256(f"{boot} {namespace}".encode()).hexdigest()[:16]
