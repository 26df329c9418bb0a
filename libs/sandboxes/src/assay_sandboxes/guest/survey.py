"""What a new sandbox is like, and which skills it has already; sent as a program text.

The digest is also computed outside, of the skills that are to be there.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys


def tree_digest(folder: str) -> str:
    """Changes with any file's path, content, or right to be run."""
    digest = hashlib.sha256()
    for path, folders, names in sorted(os.walk(folder)):
        for name in sorted(folders + names):
            where = os.path.join(path, name)  # noqa: PTH118
            mode = os.lstat(where).st_mode
            digest.update(os.path.relpath(where, folder).encode() + b"\0")
            if stat.S_ISREG(mode):
                with open(where, "rb") as file:  # noqa: PTH123
                    content = hashlib.sha256(file.read()).hexdigest()
                digest.update(("x" if mode & 0o100 else "-").encode() + content.encode())
            else:
                digest.update(b"d" if stat.S_ISDIR(mode) else b"?")
    return digest.hexdigest()


def _may_be_root() -> bool:
    # Not `subprocess`, which is slow to import.
    return os.system("sudo -n true >/dev/null 2>&1") == 0  # noqa: S605


def main() -> None:
    """Print it, as JSON. The argument names the folder of skills."""
    skills = sys.argv[1]
    root = os.geteuid() == 0
    names = os.listdir(skills) if os.path.isdir(skills) else []  # noqa: PTH112, PTH208
    answer = {
        "uid": os.geteuid(),
        "gid": os.getegid(),
        "python": sys.executable,
        "shell": "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh",  # noqa: PTH110
        "sudo": not root and _may_be_root(),
        "host": os.uname().nodename,
        "path": os.environ.get("PATH", ""),
        "skills": {name: tree_digest(os.path.join(skills, name)) for name in names},  # noqa: PTH118
    }
    print("assay:" + json.dumps(answer))  # noqa: T201
