"""Files by name, for programs that start often: importing `pathlib` takes longer than they run."""

from __future__ import annotations

import os

TEMPORARY = "/tmp"  # noqa: S108  # the sandbox's own


def exists(path: str) -> bool:
    return os.path.exists(path)  # noqa: PTH110  # `pathlib` is slow to import


def is_folder(path: str) -> bool:
    return os.path.isdir(path)  # noqa: PTH112  # `pathlib` is slow to import


def is_link(path: str) -> bool:
    return os.path.islink(path)  # noqa: PTH114  # `pathlib` is slow to import


def names_in(folder: str) -> list[str]:
    return os.listdir(folder)  # noqa: PTH208  # `pathlib` is slow to import


def read_text(path: str) -> str:
    with open(path) as file:  # noqa: PTH123  # `pathlib` is slow to import
        return file.read()


def read_bytes(path: str) -> bytes:
    with open(path, "rb") as file:  # noqa: PTH123  # `pathlib` is slow to import
        return file.read()


def write_text(path: str, text: str) -> None:
    with open(path, "w") as file:  # noqa: PTH123  # `pathlib` is slow to import
        file.write(text)


def write_text_whole(path: str, text: str) -> None:
    """Write a file that nobody ever sees half written."""
    folder, _, name = path.rpartition("/")
    write_text(f"{folder}/.{name}", text)
    os.rename(f"{folder}/.{name}", path)  # noqa: PTH104  # `pathlib` is slow to import


def make_folder(path: str, rights: int = 0o777) -> None:
    os.mkdir(path, rights)  # noqa: PTH102  # `pathlib` is slow to import


def make_folders(path: str) -> None:
    """Make a folder and those above it; they may be there already."""
    os.makedirs(path, exist_ok=True)  # noqa: PTH103  # `pathlib` is slow to import


def remove(path: str) -> None:
    """Remove a file, or a link."""
    os.unlink(path)  # noqa: PTH108  # `pathlib` is slow to import


def rights_of(path: str) -> int:
    return os.stat(path).st_mode  # noqa: PTH116  # `pathlib` is slow to import


def set_rights(path: str, rights: int) -> None:
    os.chmod(path, rights)  # noqa: PTH101  # `pathlib` is slow to import


def write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
