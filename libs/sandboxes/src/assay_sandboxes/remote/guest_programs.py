"""The programs that run inside sandboxes of somebody else's, as files to put there.

They are the package `guest` and nothing else of ours, and a few lines for each program to start
it by.
"""

from functools import cache
from pathlib import Path
from typing import Final

import assay_sandboxes
from assay_sandboxes import guest
from assay_sandboxes.guest import (
    base_listing,
    commands_program,
    home_listing,
    package_inventory,
    probe_program,
    workspace_program,
)

FOLDER: Final = "/opt/assay/programs"
"""Where they lie inside."""
COMMANDS: Final = f"{FOLDER}/commands.py"
WORKSPACE: Final = f"{FOLDER}/workspace.py"
PROBE: Final = f"{FOLDER}/probe.py"

_SOURCE: Final = Path(assay_sandboxes.__file__).parent.parent
INVENTORY: Final = f"{FOLDER}/{Path(package_inventory.__file__).relative_to(_SOURCE)}"
HOME_FILES: Final = f"{FOLDER}/{Path(home_listing.__file__).relative_to(_SOURCE)}"
BASE: Final = f"{FOLDER}/{Path(base_listing.__file__).relative_to(_SOURCE)}"
_STARTED_BY: Final = {
    COMMANDS: commands_program.__name__,
    WORKSPACE: workspace_program.__name__,
    PROBE: probe_program.__name__,
}


@cache
def program_files() -> dict[str, bytes]:
    """Every file, by its path below `FOLDER`."""
    files = {f"{assay_sandboxes.__name__}/__init__.py": b""}
    for path in sorted(Path(guest.__file__).parent.glob("*.py")):
        files[str(path.relative_to(_SOURCE))] = path.read_bytes()
    for program, module in _STARTED_BY.items():
        start = f"import sys\nsys.path.insert(0, {FOLDER!r})\nfrom {module} import main\nmain()\n"
        files[program.removeprefix(f"{FOLDER}/")] = start.encode()
    return files
