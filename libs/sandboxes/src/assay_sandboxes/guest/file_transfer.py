"""Moving files into and out of a sandbox, from inside: no path of the outside is ever followed."""

from __future__ import annotations

import errno
import os
import stat

from assay_sandboxes.guest import fast_files


def put(path: str, data: bytes, limit: int) -> int:
    """Write a file, making folders; return an error number, or zero."""
    if len(data) > limit:
        return errno.EFBIG
    if not path.startswith("/"):
        return errno.EINVAL
    try:
        fast_files.make_folders(path.rpartition("/")[0] or "/")
        # A pipe that nobody reads must not keep us waiting.
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK
        target = os.open(path, flags, 0o644)
        try:
            if not stat.S_ISREG(os.fstat(target).st_mode):
                return errno.EINVAL
            fast_files.write_all(target, data)
        finally:
            os.close(target)
    except OSError as error:
        return error.errno or errno.EIO
    except ValueError:
        return errno.EINVAL
    return 0


def put_all(sizes: list[tuple[str, int]], body: bytes, limit: int) -> list[int]:
    """Write files, `(path, size)`, whose contents stand one after another in `body`."""
    problems, position = [], 0
    for path, size in sizes:
        problems.append(put(path, body[position : position + size], limit))
        position += size
    return problems


def get(path: str, limit: int) -> tuple[int, bytes]:
    """Read a file; return an error number, or zero and the content."""
    if not path.startswith("/"):
        return errno.EINVAL, b""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            found = os.fstat(file.fileno())
            # What /proc tells of us is not the sandbox's.
            if not stat.S_ISREG(found.st_mode) or found.st_dev == os.lstat("/proc").st_dev:
                return errno.EINVAL, b""
            data = file.read(limit + 1)
    except OSError as error:
        return error.errno or errno.EIO, b""
    except ValueError:
        return errno.EINVAL, b""
    return (errno.EFBIG, b"") if len(data) > limit else (0, data)
