"""Files that sandboxes have in common, on disk once for each content."""

import hashlib
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from assay_sandboxes.bubblewrap.host.folders import HALF_MADE


class SharedFiles:
    """Folders of files, each known by the digest of what is in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, files: Mapping[str, bytes]) -> Path:
        """A folder with these files, for everyone to read."""
        digest = hashlib.sha256()
        for path, content in sorted(files.items()):
            digest.update(f"{path}\0{len(content)}\0".encode() + content)
        target = self._folder / digest.hexdigest()[:16]
        if not target.is_dir():
            self._folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=HALF_MADE, dir=self._folder) as half_made:
                _write(files, Path(half_made, "files"))
                with suppress(OSError):  # another runner was faster, with the same files
                    Path(half_made, "files").rename(target)
        return target


def _write(files: Mapping[str, bytes], folder: Path) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o644)
        path.parent.chmod(0o755)
    folder.chmod(0o755)
