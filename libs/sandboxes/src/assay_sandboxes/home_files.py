"""What lies in a home folder, from what the program inside lists."""

import json

from assay_sandboxes.port import HomeFile, SandboxUnavailable


def parse_home_files(raw: bytes) -> tuple[HomeFile, ...]:
    """The files that the program inside listed.

    Raises:
        SandboxUnavailable: it did not list them.
    """
    try:
        return tuple(
            HomeFile(_printable(str(path)), int(size), int(changed_at), bool(data))
            for path, size, changed_at, data in json.loads(raw)
        )
    except (ValueError, TypeError) as error:
        raise SandboxUnavailable(f"cannot list the home folder: {error}") from error


def _printable(path: str) -> str:
    """A name may be any bytes; what is no text is marked."""
    return path.encode(errors="surrogateescape").decode(errors="replace")
