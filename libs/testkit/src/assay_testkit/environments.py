"""A store of environments in a folder, for tests."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from assay_sandboxes.environments.store import EnvironmentRecord
from assay_sandboxes.names import check_name


@dataclass(frozen=True, slots=True)
class FolderStore:
    """Does what `EnvironmentStore` says."""

    folder: Path

    async def read(self, name: str) -> EnvironmentRecord | None:
        try:
            return EnvironmentRecord.model_validate_json(self._record(name).read_bytes())
        except FileNotFoundError:
            return None

    async def write(self, name: str, record: EnvironmentRecord) -> None:
        path = self._record(name)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_text(record.model_dump_json())

    async def delete(self, name: str) -> None:
        self._record(name).unlink(missing_ok=True)

    async def fetch(self, sha256: str, target: Path) -> bool:
        try:
            shutil.copyfile(self._content(sha256), target)
        except FileNotFoundError:
            return False
        return True

    async def store(self, sha256: str, source: Path, *, kept: bool = False) -> None:
        del kept  # nothing here goes by itself
        path = self._content(sha256)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        shutil.copyfile(source, path)

    def _record(self, name: str) -> Path:
        return self.folder / "records" / check_name(name)

    def _content(self, sha256: str) -> Path:
        return self.folder / "contents" / check_name(sha256)
