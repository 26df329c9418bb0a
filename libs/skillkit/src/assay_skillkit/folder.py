"""A skill's folder on disk, seen as an upload would be."""

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from assay_contracts.skills import Finding
from assay_skillkit.archive.nested import nested_problems
from assay_skillkit.archive.paths import clashing_paths, is_junk, path_problems, relative_path
from assay_skillkit.archive.read import junk_note
from assay_skillkit.limits import LIMITS, Limits
from assay_skillkit.rules import archive as rules

_PIECE: Final = 256 * 1024


@dataclass(frozen=True, slots=True)
class FolderTree:
    places: Mapping[str, Path]
    sizes: Mapping[str, int]

    def chunks(self, path: str) -> Iterator[bytes]:
        with self.places[path].open("rb") as file:
            while data := file.read(_PIECE):
                yield data


@dataclass(slots=True)
class _Walk:
    limits: Limits
    names: list[str] = field(default_factory=list)
    folders: set[str] = field(default_factory=set)
    places: dict[str, Path] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    junk: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def read_folder(
    root: Path, limits: Limits = LIMITS
) -> tuple[list[Finding], FolderTree, frozenset[str]]:
    """The files below `root`, what is wrong with them, and the folders. Links are never followed.

    Raises:
        OSError: The folder cannot be listed.
    """
    walk = _Walk(limits)
    _enter(root, "", walk)
    walk.findings.extend(clashing_paths(walk.names))
    if walk.junk:
        walk.findings.append(junk_note(len(walk.junk), walk.junk[0]))
    if len(walk.places) > limits.files:
        walk.findings.append(
            rules.TOO_MANY_FILES.at(f"The folder has more than {limits.files:,} files.")
        )
    total = sum(walk.sizes.values())
    if total > limits.unpacked:
        walk.findings.append(
            rules.UNPACKED_TOO_LARGE.at(
                f"The files have {total:,} bytes in all; {limits.unpacked:,} is the most."
            )
        )
    tree = FolderTree(walk.places, walk.sizes)
    walk.findings.extend(nested_problems(tree, limits))
    return walk.findings, tree, frozenset(walk.folders)


def _enter(folder: Path, prefix: str, walk: _Walk) -> None:
    with os.scandir(folder) as listing:
        entries = sorted(listing, key=lambda entry: entry.name)
    for entry in entries:
        if len(walk.places) > walk.limits.files:
            return
        _visit(entry, f"{prefix}{entry.name}", walk)


def _visit(entry: os.DirEntry[str], name: str, walk: _Walk) -> None:
    if is_junk(name):
        walk.junk.append(name)
        return
    about = entry.stat(follow_symlinks=False)
    is_folder = stat.S_ISDIR(about.st_mode)
    problems = list(path_problems(f"{name}/" if is_folder else name, walk.limits))
    if stat.S_ISLNK(about.st_mode):
        problems.append(
            rules.ENTRY_SYMLINK.at("The entry is a link, which may point anywhere.", name)
        )
    elif not is_folder and not stat.S_ISREG(about.st_mode):
        problems.append(rules.ENTRY_SPECIAL.at("The entry is a device, a pipe or a socket.", name))
    elif not is_folder and about.st_size > walk.limits.one_file:
        problems.append(
            rules.FILE_TOO_LARGE.at(
                f"The file has {about.st_size:,} bytes; {walk.limits.one_file:,} is the most.", name
            )
        )
    walk.findings.extend(problems)
    if any(problem.severity == "error" for problem in problems):
        return
    if is_folder:
        walk.names.append(f"{name}/")
        walk.folders.add(relative_path(name))
        _enter(Path(entry.path), f"{name}/", walk)
    else:
        walk.names.append(name)
        walk.places[relative_path(name)] = Path(entry.path)
        walk.sizes[relative_path(name)] = about.st_size
