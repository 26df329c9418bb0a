"""Folders on this machine's disk: half made ones, their age, and their end."""

import os
import shutil
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

HALF_MADE: Final = ".new-"
"""Begins the names of folders that are being made, or removed."""
HALF_MADE_FOR_S: Final = 3600.0
"""After this, whoever was making one is taken to be dead."""


def age_s(path: Path) -> float:
    """Seconds since it last changed; none for what is gone."""
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def remove_tree(path: Path) -> None:
    """Remove a folder, even one with folders in it that are closed to their owner."""
    if os.geteuid() != 0:
        for folder, names, _ in os.walk(path):
            for name in names:
                _open_up(Path(folder, name))
    # Somebody else may be removing it too.
    with suppress(FileNotFoundError):
        shutil.rmtree(path)


def _open_up(path: Path) -> None:
    mode = path.lstat().st_mode
    if stat.S_ISDIR(mode) and mode & stat.S_IRWXU != stat.S_IRWXU:
        path.chmod(stat.S_IRWXU)
