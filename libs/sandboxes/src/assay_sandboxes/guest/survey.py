"""What a new sandbox is like, and which skills it has already; sent as the text of a program.

It stands alone, since nothing of ours is in a new sandbox yet. The digest is also computed outside,
of the skills that are to be there.
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
            where = f"{path}/{name}"
            mode = os.lstat(where).st_mode
            digest.update(os.path.relpath(where, folder).encode() + b"\0")
            if stat.S_ISREG(mode):
                with os.fdopen(os.open(where, os.O_RDONLY), "rb") as file:
                    content = hashlib.sha256(file.read()).hexdigest()
                digest.update(("x" if mode & 0o100 else "-").encode() + content.encode())
            else:
                digest.update(b"d" if stat.S_ISDIR(mode) else b"?")
    return digest.hexdigest()


def _may_be_root() -> bool:
    command = "sudo -n true >/dev/null 2>&1"
    return os.system(command) == 0  # noqa: S605  # `subprocess` is slow to import


def _names_in(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries]
    except (FileNotFoundError, NotADirectoryError):
        return []


def main() -> None:
    """Print it, as JSON. The argument names the folder of skills."""
    skills = sys.argv[1]
    root = os.geteuid() == 0
    answer = {
        "uid": os.geteuid(),
        "gid": os.getegid(),
        "python": sys.executable,
        "shell": "/bin/bash" if os.access("/bin/bash", os.X_OK) else "/bin/sh",
        "sudo": not root and _may_be_root(),
        "host": os.uname().nodename,
        "path": os.environ.get("PATH", ""),
        "skills": {name: tree_digest(f"{skills}/{name}") for name in _names_in(skills)},
    }
    sys.stdout.write(f"assay:{json.dumps(answer)}\n")
