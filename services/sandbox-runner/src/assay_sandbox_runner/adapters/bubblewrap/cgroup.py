"""A control group for each sandbox, where this process may make one: it bounds the sum."""

from contextlib import suppress
from pathlib import Path
from typing import Final

_PARENT: Final = "assay-sandboxes"


class MemoryGroup:
    """Bounds the memory of all of a sandbox's processes together."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def processes(self) -> str:
        """The file a process writes itself into to join."""
        return str(self.path / "cgroup.procs")

    def remove(self) -> None:
        """Remove it, once its processes are gone; one that is gone already is fine."""
        with suppress(FileNotFoundError):
            self.path.rmdir()


def make_memory_group(
    name: str, memory_bytes: int, root: Path = Path("/sys/fs/cgroup")
) -> MemoryGroup | None:
    """A group under the machine's tree, of either version; none where that is not allowed."""
    first = root / "memory"
    version_1 = (first / "memory.limit_in_bytes").exists()
    path = (first if version_1 else root) / _PARENT / name
    limits = (
        ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes")
        if version_1
        else ("memory.max", "memory.swap.max")
    )
    try:
        path.parent.mkdir(exist_ok=True)
        if not version_1:
            for folder in (root, path.parent):
                (folder / "cgroup.subtree_control").write_text("+memory")
        path.mkdir()
        (path / limits[0]).write_text(str(memory_bytes))
    except OSError:
        with suppress(OSError):
            path.rmdir()
        return None
    with suppress(OSError):  # there may be no swap to bound
        (path / limits[1]).write_text(str(memory_bytes) if version_1 else "0")
    return MemoryGroup(path)
