"""The files and packages of a fake sandbox."""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from assay_contracts.runs import Package
from assay_sandboxes.command_environment import HOME
from assay_sandboxes.guest.fast_files import TEMPORARY
from assay_sandboxes.port import SKILLS, WORKSPACE, FileProblem


@dataclass(slots=True)
class Environment:
    """What a snapshot keeps."""

    files: dict[str, bytes] = field(default_factory=dict)
    packages: set[Package] = field(default_factory=set)
    kept_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    def copy(self) -> "Environment":
        return Environment(dict(self.files), set(self.packages))


class FakeFiles:
    """A workspace, an environment, and skills that are only there to read."""

    def __init__(self, environment: Environment, skills: Path, largest: int) -> None:
        """Take over `environment`; no file may have more than `largest` bytes."""
        self.environment = environment
        self._workspace: dict[str, bytes] = {}
        self._skills = skills
        self._largest = largest

    def below(self, folder: str) -> Mapping[str, bytes]:
        """The files in a folder and below it, by their path from there."""
        start = folder.rstrip("/") + "/"
        everything = {**self._workspace, **self.environment.files}
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
        return self.environment.files if path.startswith(HOME + "/") else self._workspace

    def _is_folder(self, path: str) -> bool:
        return path in (WORKSPACE, HOME) or bool(self.below(path))


def _read_real(path: Path) -> bytes | FileProblem:
    if path.is_dir():
        return "is_directory"
    return path.read_bytes() if path.is_file() else "file_not_found"
