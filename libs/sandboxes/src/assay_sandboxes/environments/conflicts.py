"""Whether packages get into each other's way: no file and no module belongs to two of them."""

import filecmp
import os
from collections.abc import Iterable
from pathlib import Path

from packaging.utils import canonicalize_name

from assay_contracts.environments import LockedPackage
from assay_sandboxes.environments.unpacking import top_modules
from assay_sandboxes.port import Base


def conflict(
    package: LockedPackage,
    folder: Path,
    others: Iterable[tuple[LockedPackage, Path]],
    base: Base,
) -> str | None:
    """Why a package cannot be beside the others; None if it can.

    Args:
        package: The package in question.
        folder: What it brings.
        others: Those that are there already, and what they bring.
        base: What all of them are beside.
    """
    for module in top_modules(folder, base):
        owner = base.modules.get(module)
        if owner is not None and canonicalize_name(owner) != canonicalize_name(package.name):
            return f"it brings the module {module}, which is that of {owner or 'the base'}"
    files = list(_files(folder))
    for other, there in others:
        for path in files:
            same_place = there / path
            if same_place.exists() and not filecmp.cmp(same_place, folder / path, shallow=False):
                return f"it brings {path}, which is a file of {other.name}"
    return None


def _files(folder: Path) -> Iterable[Path]:
    for path, _, files in os.walk(folder):
        for name in files:
            if not name.endswith(".pyc"):
                yield Path(path, name).relative_to(folder)
