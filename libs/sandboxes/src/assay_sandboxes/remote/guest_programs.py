"""The programs that run inside sandboxes of somebody else's, as files to put there."""

import hashlib
from functools import cache
from pathlib import Path
from typing import Final

import assay_sandboxes
from assay_sandboxes import guest

CELL: Final = "cell.py"
"""What a sandbox of somebody else's is asked through."""
PROBE: Final = "probe.py"

_PACKAGE: Final = Path(assay_sandboxes.__file__).parent.parent
PATH_INSIDE: Final = Path(guest.__file__).parent.relative_to(_PACKAGE)


@cache
def program_files() -> dict[str, bytes]:
    """Every file, by its path below the folder that the programs are put into."""
    package = PATH_INSIDE.parts
    files = {"/".join((*package[:depth], "__init__.py")): b"" for depth in range(1, len(package))}
    for path in sorted(Path(guest.__file__).parent.glob("*.py")):
        files[str(PATH_INSIDE / path.name)] = path.read_bytes()
    for entry, module in ((CELL, "operations"), (PROBE, "network_probe")):
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
