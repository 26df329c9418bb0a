"""Which names sandboxes and snapshots may have."""

import re
from typing import Final

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def check_name(name: str) -> str:
    """Return a name that may be that of a file.

    Raises:
        ValueError: it may not.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{name!r} cannot name a sandbox or a snapshot: use up to 128 letters, digits, "
            "dots, hyphens and underscores, with a letter or digit first"
        )
    return name
