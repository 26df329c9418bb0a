"""The programs that run inside sandboxes, as files to put there."""

import hashlib
import os
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Final

import assay_sandbox_runner
from assay_sandbox_runner.adapters import inside

SUPERVISE: Final = "supervise.py"
"""Process 1 of a bubblewrap sandbox."""
CELL: Final = "cell.py"
"""What a sandbox of somebody else's is asked through."""
PROBE: Final = "probe.py"

_PACKAGE: Final = Path(assay_sandbox_runner.__file__).parent.parent
PATH_INSIDE: Final = Path(inside.__file__).parent.relative_to(_PACKAGE)


@cache
def program_files() -> dict[str, bytes]:
    """Every file, by its path below the folder that the programs are put into."""
    package = PATH_INSIDE.parts
    files = {"/".join((*package[:depth], "__init__.py")): b"" for depth in range(1, len(package))}
    for path in sorted(Path(inside.__file__).parent.glob("*.py")):
        files[str(PATH_INSIDE / path.name)] = path.read_bytes()
    for entry, module in ((SUPERVISE, "supervisor"), (CELL, "cell"), (PROBE, "probing")):
        files[entry] = (
            f"import sys\nsys.path.insert(0, __file__[: -len('/{entry}')])\n"
            f"from {'.'.join(package)}.{module} import main\nmain()\n"
        ).encode()
    return files


@cache
def programs_digest() -> str:
    digest = hashlib.sha256()
    for path, content in sorted(program_files().items()):
        digest.update(f"{path}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def programs_on_disk(root: Path, python: str) -> Path:
    """A folder below `root` with the programs, compiled for the interpreter at `python`."""
    version = hashlib.sha256(f"{programs_digest()} {_interpreter(python)}".encode()).hexdigest()
    target = root / version[:16]
    if target.is_dir():
        return target
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=root) as half_made:
        folder = Path(half_made) / "programs"
        for path, content in program_files().items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        compiling = (python, "-I", "-S", "-m", "compileall", "-q", "--invalidation-mode")
        subprocess.run([*compiling, "unchecked-hash", str(folder)], check=True, env={})
        for path, _, names in os.walk(folder):
            Path(path).chmod(0o755)
            for name in names:
                Path(path, name).chmod(0o644)
        try:
            folder.rename(target)
        except OSError:
            if not target.is_dir():  # else another runner was faster, with the same files
                raise
    return target


def _interpreter(python: str) -> str:
    path = Path(python).resolve()
    return f"{path} {path.stat().st_mtime_ns}"
