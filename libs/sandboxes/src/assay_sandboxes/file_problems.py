"""Why a file could not be written or read, by the error number that the kernel gave."""

import errno
from collections.abc import Mapping
from typing import Final

from assay_sandboxes.port import FileProblem

_PROBLEMS: Final[Mapping[int, FileProblem]] = {
    errno.ENOENT: "file_not_found",
    errno.EISDIR: "is_directory",
    errno.EINVAL: "invalid_path",
    errno.ENOTDIR: "invalid_path",
    errno.EEXIST: "invalid_path",
    errno.ENAMETOOLONG: "invalid_path",
    errno.ELOOP: "invalid_path",
    errno.ENXIO: "invalid_path",
    errno.EFBIG: "too_large",
    errno.ENOSPC: "too_large",
}


def problem_of(number: int) -> FileProblem:
    return _PROBLEMS.get(number, "permission_denied")
