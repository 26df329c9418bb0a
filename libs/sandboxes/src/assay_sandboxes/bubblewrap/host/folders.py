"""Folders on this machine's disk: half made ones, their age, and their end."""

import itertools
import os
import secrets
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

HALF_MADE: Final = ".new-"
"""Begins the names of folders that are being made, or removed."""
HALF_MADE_FOR_S: Final = 3600.0
"""After this, whoever was making one is taken to be dead."""

_REMOVED_WITHIN_S: Final = 300.0
_AT_ONCE: Final = 1000
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def age_s(path: Path) -> float:
    """Seconds since it last changed; none for what is gone."""
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def remove_tree(path: Path, *, within_s: float = _REMOVED_WITHIN_S) -> None:
    """Remove a folder and all in it, whatever a skill has made of it; what is gone is fine.

    However deep folders lie in each other, no path grows and nothing recurs: a folder within a
    folder is moved up, beside it, and has its turn there. Links are removed, never followed.
    Folders that are closed to their owner are opened.

    Raises:
        OSError: something cannot be removed; or it took longer, and the rest is left.
    """
    deadline = time.monotonic() + within_s
    try:
        top = os.open(path, _FOLDER)
    except FileNotFoundError:
        return
    except NotADirectoryError:
        path.unlink(missing_ok=True)
        return
    try:
        while names := _some_names(top):
            for name in names:
                _remove_one(top, name)
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{path} is too much to remove in {within_s:g} seconds")
    finally:
        os.close(top)
    with suppress(FileNotFoundError):  # somebody else may be removing it too
        path.rmdir()


def _some_names(folder: int) -> list[str]:
    """Names in a folder, not all of very many."""
    with os.scandir(folder) as entries:
        return [entry.name for entry in itertools.islice(entries, _AT_ONCE)]


def _remove_one(top: int, name: str) -> None:
    """Remove a file of the top folder; or a folder, whose own folders are moved to the top."""
    with suppress(FileNotFoundError):
        if not stat.S_ISDIR(os.lstat(name, dir_fd=top).st_mode):
            os.unlink(name, dir_fd=top)
            return
        folder = _opened(name, top)
        try:
            while names := _some_names(folder):
                for each in names:
                    _unlink_or_move_up(each, folder, top)
        finally:
            os.close(folder)
        os.rmdir(name, dir_fd=top)


def _unlink_or_move_up(name: str, folder: int, top: int) -> None:
    with suppress(FileNotFoundError):
        if not stat.S_ISDIR(os.lstat(name, dir_fd=folder).st_mode):
            os.unlink(name, dir_fd=folder)
            return
        # What is moved to another folder has to be open for writing.
        os.close(_opened(name, folder))
        os.rename(name, secrets.token_hex(12), src_dir_fd=folder, dst_dir_fd=top)


def _opened(name: str, parent: int) -> int:
    """A folder's descriptor, once its owner may do everything in it."""
    path_only = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY, dir_fd=parent)
    try:
        mode = os.fstat(path_only).st_mode
        if mode & stat.S_IRWXU != stat.S_IRWXU:
            Path(f"/proc/self/fd/{path_only}").chmod(stat.S_IRWXU)
        return os.open(".", _FOLDER, dir_fd=path_only)
    finally:
        os.close(path_only)
