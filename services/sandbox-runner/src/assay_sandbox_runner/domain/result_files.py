"""The files that checks are run on: a copy of what a task's work left behind. Pure."""

import posixpath
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from assay_contracts.tasks import TaskFile
from assay_sandbox_runner.domain.produced_files import is_installed

MOST_BYTES: Final = 64 * 1024**2
"""Of all files together."""
MOST_FILES: Final = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultFiles:
    """Paths are relative to the task's folder."""

    contents: Mapping[str, bytes]
    programs: Collection[str] = ()
    """Those of them that may be run."""
    left_out: Collection[str] = ()
    """Files that are there, too large or too many to be looked at."""
    folders: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        paths = (*self.contents, *self.left_out)
        folders = frozenset(folder for path in paths for folder in _above(path))
        object.__setattr__(self, "folders", folders | {"."})

    @classmethod
    def of(cls, files: Iterable[TaskFile]) -> "ResultFiles":
        """Those that a task gives, or that somebody made for it; of one path, the last counts."""
        return cls(contents={posixpath.normpath(file.path): file.to_bytes() for file in files})

    def state_of(self, path: str) -> str:
        """What there is under that path, in words; empty when it is a file that is not empty."""
        path = posixpath.normpath(path)
        if path in self.left_out:
            return ""
        if path in self.folders:
            return "is not a file"
        if path not in self.contents:
            return "is not there"
        return "" if self.contents[path] else "is empty"


def files_to_copy(sizes: Mapping[str, int], named: Collection[str]) -> tuple[str, ...]:
    """The files that checks get to see, those that they name first, then all that fit.

    Args:
        sizes: Every file below the task's folder, with its bytes.
        named: The paths that checks name.
    """
    ranked = sorted(sizes, key=lambda path: (path not in named, is_installed(path), sizes[path]))
    copied, room = [], MOST_BYTES
    for path in ranked[:MOST_FILES]:
        if sizes[path] <= room:
            copied.append(path)
            room -= sizes[path]
    return tuple(copied)


def _above(path: str) -> Iterable[str]:
    folder = posixpath.dirname(path)
    while folder:
        yield folder
        folder = posixpath.dirname(folder)
