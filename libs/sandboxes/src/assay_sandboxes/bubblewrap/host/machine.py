"""What the machine itself has: the base of every sandbox on it."""

import os
import subprocess
from functools import cache
from typing import Final

from assay_sandboxes.base_facts import parse_base
from assay_sandboxes.bubblewrap import KIND
from assay_sandboxes.bubblewrap.host import layout
from assay_sandboxes.bubblewrap.process_one.launcher import SANDBOX_UID
from assay_sandboxes.guest import base_listing, package_inventory
from assay_sandboxes.installed_packages import machine_packages, parse_inventory
from assay_sandboxes.port import Base, SandboxUnavailable

_ANSWER_S: Final = 30.0
_NOBODY: Final = {"HOME": "/nonexistent", "NPM_CONFIG_PREFIX": "/nonexistent"}


@cache
def machine_base() -> Base:
    """What sandboxes on this machine have from the start.

    Raises:
        SandboxUnavailable: nobody can tell.
    """
    python = layout.interpreter().path
    packages = parse_inventory(_run(python, "-S", str(package_inventory.__file__)))
    return parse_base(
        _run(python, str(base_listing.__file__), *layout.COMMAND_FOLDERS),
        packages | machine_packages(),
        kind=KIND,
        python=python,
        owner=SANDBOX_UID if os.geteuid() == 0 else None,
        is_this_machine=True,
    )


def _run(python: str, *arguments: str) -> bytes:
    try:
        return subprocess.run(
            [python, "-I", *arguments],
            env=_NOBODY,
            capture_output=True,
            timeout=_ANSWER_S,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise SandboxUnavailable(f"cannot list what the machine has: {error}") from error
