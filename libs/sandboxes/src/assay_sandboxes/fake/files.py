"""The files and packages of a fake sandbox."""

import json
import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from assay_contracts.runs import Package
from assay_sandboxes.command_environment import HOME
from assay_sandboxes.environments.unpacking import NODE_MODULES
from assay_sandboxes.guest.fast_files import TEMPORARY
from assay_sandboxes.port import SKILLS, WORKSPACE, FileProblem


@dataclass(slots=True)
class FakeHome:
    """What is installed in a fake sandbox."""

    files: dict[str, bytes] = field(default_factory=dict)
    packages: set[Package] = field(default_factory=set)
    sealed: frozenset[str] = frozenset()
    """Files that were there from the start and have not changed."""


def home_of(layers: Iterable[Path]) -> FakeHome:
    """A home folder in which these layers lie."""
    home = FakeHome()
    for layer in layers:
        for path in (path for path in layer.rglob("*") if path.is_file()):
            below = path.relative_to(layer)
            home.files[f"{HOME}/{below}"] = path.read_bytes()
            if path.match("*.dist-info/METADATA"):
                home.packages.add(_described(path.read_text()))
            elif path.match("node_modules/*/package.json"):
                said = json.loads(path.read_bytes())
                place = str(below.parent.relative_to(NODE_MODULES))
                home.packages.add(
                    Package(
                        ecosystem="npm", name=said["name"], version=said["version"], place=place
                    )
                )
    home.sealed = frozenset(home.files)
    return home


def _described(metadata: str) -> Package:
    fields = dict(line.split(": ", 1) for line in metadata.splitlines() if ": " in line)
    return Package(ecosystem="pip", name=fields["Name"], version=fields["Version"])


class FakeFiles:
    """A workspace, an environment, and skills that are only there to read."""

    def __init__(self, home: FakeHome, skills: Path, largest: int) -> None:
        """Take over `home`; no file may have more than `largest` bytes."""
        self.home = home
        self._workspace: dict[str, bytes] = {}
        self._skills = skills
        self._largest = largest

    def below(self, folder: str) -> Mapping[str, bytes]:
        """The files in a folder and below it, by their path from there."""
        start = folder.rstrip("/") + "/"
        everything = {**self._workspace, **self.home.files}
        return {
            path.removeprefix(start): content
            for path, content in everything.items()
            if path.startswith(start)
        }

    def write(self, path: str, content: bytes) -> FileProblem | None:
        if not path.startswith("/") or "\0" in path:
            return "invalid_path"
        path = posixpath.normpath(path)
        if not path.startswith((WORKSPACE + "/", HOME + "/", TEMPORARY + "/")):
            return "permission_denied"
        if path == SKILLS or path.startswith(SKILLS + "/"):
            return "permission_denied"
        if len(content) > self._largest:
            return "too_large"
        if self._is_folder(path):
            return "is_directory"
        self._files(path)[path] = content
        self.home.sealed -= {path}
        return None

    def read(self, path: str) -> bytes | FileProblem:
        if not path.startswith("/") or "\0" in path:
            return "invalid_path"
        path = posixpath.normpath(path)
        if path == SKILLS or path.startswith(SKILLS + "/"):
            return _read_real(self._skills / path[len(SKILLS) :].lstrip("/"))
        if self._is_folder(path):
            return "is_directory"
        return self._files(path).get(path, "file_not_found")

    def _files(self, path: str) -> dict[str, bytes]:
        return self.home.files if path.startswith(HOME + "/") else self._workspace

    def _is_folder(self, path: str) -> bool:
        return path in (WORKSPACE, HOME) or bool(self.below(path))


def _read_real(path: Path) -> bytes | FileProblem:
    if path.is_dir():
        return "is_directory"
    return path.read_bytes() if path.is_file() else "file_not_found"
