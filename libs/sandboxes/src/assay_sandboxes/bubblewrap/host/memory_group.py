"""A control group for each sandbox, where this process may make one.

It bounds the memory of all processes together, and weighs a sandbox as one among others however
many processes it has. Root makes groups under the machine's tree, of either version; an ordinary
user under the nearest group above its own that was given to it (systemd's `Delegate=`, or the
group of the user's own manager) and that nobody is in.
"""

import itertools
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

_PARENT: Final = "assay-sandboxes"
_ROOT: Final = Path("/sys/fs/cgroup")
_JOINED_WITHIN_S: Final = 60.0
_LIMIT_1: Final = "memory.limit_in_bytes"
_SWAP_1: Final = "memory.memsw.limit_in_bytes"
_LIMIT_2: Final = "memory.max"
_SWAP_2: Final = "memory.swap.max"
_WEIGHT_1: Final = "cpu.shares"
_WEIGHT_2: Final = "cpu.weight"
_CONTROLLERS: Final = "cgroup.subtree_control"


class MemoryGroup:
    """Bounds the memory of all of a sandbox's processes together."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def cpu(self) -> Path | None:
        """The group that weighs it; none where there is none. One group in the second version."""
        if (self.path / _WEIGHT_2).exists():
            return self.path
        beside = _weighed_by(self.path.parents[2], self.path.name)
        return beside if (beside / _WEIGHT_1).exists() else None

    @property
    def files_to_join(self) -> list[str]:
        """A process writes itself into each of these."""
        groups = dict.fromkeys((self.path, self.cpu or self.path))
        return [str(group / "cgroup.procs") for group in groups]

    def bound(self, memory_bytes: int) -> None:
        """Bound it, once."""
        version_1 = (self.path / _LIMIT_1).exists()
        (self.path / (_LIMIT_1 if version_1 else _LIMIT_2)).write_text(str(memory_bytes))
        with suppress(OSError):  # there may be no swap to bound
            swap = self.path / (_SWAP_1 if version_1 else _SWAP_2)
            swap.write_text(str(memory_bytes) if version_1 else "0")

    def killed(self) -> int:
        """How many of its processes the kernel has ended for want of memory."""
        for name in ("memory.events", "memory.oom_control"):
            with suppress(OSError, ValueError):
                counts = dict(line.split() for line in (self.path / name).read_text().splitlines())
                return int(counts.get("oom_kill", 0))
        return 0

    def remove(self) -> None:
        """Remove it, once its processes are gone; one that is gone already is fine."""
        cpu = self.cpu
        with suppress(FileNotFoundError):
            self.path.rmdir()
        if cpu is not None and cpu != self.path:
            with suppress(FileNotFoundError):
                cpu.rmdir()


def make_memory_group(
    name: str, root: Path = _ROOT, own: Path = Path("/proc/self/cgroup")
) -> MemoryGroup | None:
    """A group under the machine's tree, of either version; none where that is not allowed."""
    version_1 = _is_version_1(root)
    above = _parent(root).parent if version_1 or os.geteuid() == 0 else _given_to_us(root, own)
    if above is None:
        return None
    path = above / _PARENT / name
    try:
        path.parent.mkdir(exist_ok=True)
        if not version_1:
            for folder in (above, path.parent):
                (folder / _CONTROLLERS).write_text("+memory")
                with suppress(OSError):
                    (folder / _CONTROLLERS).write_text("+memory +cpu")
        path.mkdir()
        (path / (_LIMIT_1 if version_1 else _LIMIT_2)).write_text("-1" if version_1 else "max")
    except OSError:
        with suppress(OSError):
            path.rmdir()
        return None
    if version_1:
        with suppress(OSError):  # then its processes are weighed one by one
            _weighed_by(root, name).mkdir(parents=True)
    return MemoryGroup(path)


def _given_to_us(root: Path, own: Path) -> Path | None:
    """The nearest group at or above this process's own that is ours to divide."""
    try:
        line = next(line for line in own.read_text().splitlines() if line.startswith("0::"))
    except (OSError, StopIteration):
        return None
    here = root / line.removeprefix("0::").lstrip("/")
    for folder in (here, *here.parents):
        if not folder.is_relative_to(root) or folder == root:
            return None
        with suppress(OSError):
            controllers = (folder / "cgroup.controllers").read_text().split()
            members = (folder / "cgroup.procs").read_text().strip()
            ours = os.access(folder, os.W_OK) and os.access(folder / "cgroup.procs", os.W_OK)
            if ours and "memory" in controllers and not members:
                return folder
    return None


def remove_abandoned_groups(root: Path = _ROOT) -> None:
    """Remove groups that nobody is in and that nobody is about to join."""
    now = time.time()
    for path in itertools.chain(_parent(root).glob("*/"), (root / "cpu").glob(f"{_PARENT}-*/")):
        with suppress(OSError):  # somebody is in it, or it is gone already
            if now - path.stat().st_mtime > _JOINED_WITHIN_S:
                path.rmdir()


def _is_version_1(root: Path) -> bool:
    return (root / "memory" / "memory.limit_in_bytes").exists()


def _parent(root: Path) -> Path:
    return (root / "memory" if _is_version_1(root) else root) / _PARENT


def _weighed_by(root: Path, name: str) -> Path:
    """The group of the first version that weighs a sandbox, beside all else that runs here.

    Not below one for all sandboxes: then those that step back would leave those that do not with
    what one process weighs.
    """
    return root / "cpu" / f"{_PARENT}-{name}"
