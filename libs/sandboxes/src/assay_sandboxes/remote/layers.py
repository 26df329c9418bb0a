"""Layers on their way into a remote sandbox: as archives that are not too large each."""

import io
import tarfile
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Final

PART_BYTES: Final = 32 * 1024**2
UNPACK: Final = (
    "import sys, tarfile\n"
    "with tarfile.open(sys.argv[1]) as archive:\n"
    "    archive.extractall(sys.argv[2])\n"
)
"""A program; its arguments are an archive that we made and where to unpack it."""


def packed(layer: Path) -> Iterator[bytes]:
    """All of a layer, in as many archives as it takes."""
    pending = deque(sorted(layer.rglob("*")))
    while pending:
        target = io.BytesIO()
        with tarfile.open(fileobj=target, mode="w") as archive:
            while pending and target.tell() < PART_BYTES:
                path = pending.popleft()
                archive.add(path, str(path.relative_to(layer)), recursive=False, filter=_ours)
        yield target.getvalue()


def _ours(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry
