"""A control group for each sandbox, where this process may make one: it bounds the sum."""

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


class MemoryGroup:
    """Bounds the memory of all of a sandbox's processes together."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def processes(self) -> str:
        """The file a process writes itself into to join."""
        return str(self.path / "cgroup.procs")

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
        with suppress(FileNotFoundError):
            self.path.rmdir()


def make_memory_group(name: str, root: Path = _ROOT) -> MemoryGroup | None:
    """A group under the machine's tree, of either version; none where that is not allowed."""
    version_1 = _is_version_1(root)
    path = _parent(root) / name
    try:
        path.parent.mkdir(exist_ok=True)
        if not version_1:
            for folder in (root, path.parent):
                (folder / "cgroup.subtree_control").write_text("+memory")
        path.mkdir()
        (path / (_LIMIT_1 if version_1 else _LIMIT_2)).write_text("-1" if version_1 else "max")
    except OSError:
        with suppress(OSError):
            path.rmdir()
        return None
    return MemoryGroup(path)


def remove_abandoned_groups(root: Path = _ROOT) -> None:
    """Remove groups that nobody is in and that nobody is about to join."""
    now = time.time()
    for path in _parent(root).glob("*/"):
        with suppress(OSError):  # somebody is in it, or it is gone already
            if now - path.stat().st_mtime > _JOINED_WITHIN_S:
                path.rmdir()


def _is_version_1(root: Path) -> bool:
    return (root / "memory" / "memory.limit_in_bytes").exists()


def _parent(root: Path) -> Path:
    return (root / "memory" if _is_version_1(root) else root) / _PARENT
