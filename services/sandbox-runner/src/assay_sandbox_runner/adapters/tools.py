"""Our own Python libraries, laid out for clean sandboxes to mount: those this service came with."""

import compileall
import hashlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import Final

from packaging.requirements import Requirement

from assay_sandbox_runner.use_cases.clean_sandbox import LIBRARIES

PACKAGES: Final = ("openpyxl", "pillow", "pypdf", "python-docx", "python-pptx", "reportlab")
"""What checks and planners make and read documents with, beside Python's own modules."""
_NOT_NEEDED: Final = re.compile(
    r"(?:^|/)(?:tests?|includes?|[^/]*\.dist-info)/|\.(?:pyi|h|pxd|pyx|c)$|^\.\./|^bin/"
)


def lay_out_tools(state_dir: Path) -> Path:
    """A folder that holds a folder of our libraries; made once for each choice of versions.

    It lies beside what is installed here, or below `state_dir` where nothing may be written there.
    """
    wanted = _with_requirements(PACKAGES)
    versions = sorted(f"{name} {found.version}" for name, found in wanted.items())
    digest = hashlib.sha256("\n".join(("compiled", sys.version, *versions)).encode()).hexdigest()[
        :16
    ]
    installed = Path(sys.prefix)
    root = installed / "share" / "assay" if os.access(installed, os.W_OK) else state_dir
    target = root / f"tools-{digest}"
    if not target.is_dir():
        root.mkdir(parents=True, exist_ok=True)
        _make(target, wanted)
    return target


def _make(target: Path, wanted: Mapping[str, Distribution]) -> None:
    """Make it beside the target and rename, so that nobody ever sees half of it."""
    beside = Path(tempfile.mkdtemp(prefix=".tools-", dir=target.parent))
    try:
        libraries = beside / Path(LIBRARIES).name
        for found in wanted.values():
            _copy(found, libraries)
        # A clean sandbox cannot keep the compiled form: it would be made anew for each check.
        # And the fewer files there are, the sooner a sandbox is open.
        compileall.compile_dir(
            libraries, quiet=2, legacy=True, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH
        )
        for source in libraries.rglob("*.py"):
            if source.with_suffix(".pyc").exists():
                source.unlink()
        beside.chmod(0o755)
        beside.rename(target)
    except OSError:
        if not target.is_dir():  # else another process was faster, with the same files
            raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _with_requirements(names: tuple[str, ...]) -> dict[str, Distribution]:
    found: dict[str, Distribution] = {}
    open_names = list(names)
    while open_names:
        name = open_names.pop()
        if name in found:
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            continue  # a requirement of another platform
        needs = map(Requirement, found[name].requires or ())
        open_names += [
            need.name.lower() for need in needs if need.marker is None or need.marker.evaluate()
        ]
    return found


def _copy(found: Distribution, target: Path) -> None:
    for file in found.files or ():
        path = file.as_posix()
        source = Path(str(found.locate_file(file)))
        if _NOT_NEEDED.search(path) or not source.is_file():
            continue
        place = target / path
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, place)
