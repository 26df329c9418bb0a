"""What a sandbox sees: its files, its environment, its user."""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from assay_sandboxes.bubblewrap.bwrap import bwrap_path
from assay_sandboxes.bubblewrap.process_one.launcher import STAGE
from assay_sandboxes.bubblewrap.process_one.move_in import NAME_SERVER, USER, Room
from assay_sandboxes.command_environment import ENVIRONMENT, HOME, search_path
from assay_sandboxes.guest import home_listing, package_inventory
from assay_sandboxes.guest.fast_files import TEMPORARY
from assay_sandboxes.port import SKILLS, WORKSPACE, Limits

PROGRAMS: Final = "/run/sandbox"
INVENTORY: Final = f"{PROGRAMS}/inventory.py"
HOME_FILES: Final = f"{PROGRAMS}/home_files.py"

_LINKS: Final = "/run/bin"
_SMALL: Final = 64 * 1024**2
_FEW: Final = 10_000
_SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108  # the sandbox's own

COMMAND_FOLDERS: Final = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin")
_CERTIFICATES: Final = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")
_TRUSTING: Final = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")
"""By these, programs that bring certificates of their own learn of the machine's."""


def _trusted() -> dict[str, str]:
    """Whom this machine trusts, sandboxes trust too: its package index may be its own."""
    known = next((path for path in _CERTIFICATES if Path(path).is_file()), None)
    return dict.fromkeys(_TRUSTING, known) if known else {}


COMMAND_ENVIRONMENT: Final = (
    ENVIRONMENT | _trusted() | {"PATH": search_path(_LINKS, *COMMAND_FOLDERS)}
)

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


def own_files() -> dict[str, bytes]:
    """What a sandbox sees that is not the machine's, by its path below a folder to stage."""
    etc = {
        "passwd": f"root:x:0:0::/:/bin/sh\nagent:x:{USER}:{USER}::{HOME}:{shell()}\n",
        "group": f"root:x:0:\nagent:x:{USER}:\n",
        "hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
        "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
        "resolv.conf": _resolver(),
    }
    files = {f"etc/{name}": content.encode() for name, content in etc.items()}
    return files | _programs()


@cache
def _programs() -> dict[str, bytes]:
    programs = {INVENTORY: package_inventory, HOME_FILES: home_listing}
    return {
        f"programs/{Path(path).name}": Path(str(program.__file__)).read_bytes()
        for path, program in programs.items()
    }


def _resolver() -> str:
    # The same whatever the network: nobody inside is to tell by it whether there is one.
    kept = [line for line in _machines_resolver() if line.split()[:1] in (["search"], ["options"])]
    return "\n".join([f"nameserver {NAME_SERVER}", *kept, ""])


def search_domains() -> tuple[str, ...]:
    """What the resolver of a sandbox puts behind names it does not find."""
    words = [line.split() for line in _machines_resolver() if line.split()[:1] == ["search"]]
    return tuple(domain.rstrip(".").lower() for line in words for domain in line[1:])


def _machines_resolver() -> list[str]:
    machine = Path("/etc/resolv.conf")
    return machine.read_text().splitlines() if machine.exists() else []


def staged_folders(*, own: Path, skills: Path) -> dict[str, str]:
    """The folders that the launcher stages for `bwrap_arguments`; `own` holds `own_files`."""
    folders = {"own": str(own), "skills": str(skills.resolve())}
    prefix = interpreter().prefix
    return folders | _bwrap_folders() | ({"python": prefix} if prefix else {})


def rooms(limits: Limits, layers: Sequence[Path], *, overlay: bool) -> dict[str, Room]:
    """What may be written to, for `bwrap_arguments`; `layers` show in the home folder."""
    home = Room(
        bytes=limits.home_bytes,
        files=limits.home_files,
        mode="0755",
        layers=[str(layer) for layer in layers],
        overlay=overlay,
    )
    return {
        "home": home,
        "workspace": _room(limits.workspace_bytes, limits.workspace_files, "0755"),
        "temporary": _room(limits.workspace_bytes, limits.workspace_files, "1777"),
        "shared-memory": _room(_SMALL, _FEW, "1777"),
    }


def _room(most_bytes: int, most_files: int, mode: str) -> Room:
    return Room(bytes=most_bytes, files=most_files, mode=mode, layers=[], overlay=False)


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


def bwrap_arguments() -> list[str]:
    """What `bwrap` is to lay out: all the files, and namespaces that have nothing to do with them.

    The others are the launcher's doing (`process_one/launcher.py`).
    """
    return [
        *("--unshare-ipc", "--unshare-uts", "--unshare-cgroup", "--hostname", "sandbox"),
        *("--cap-drop", "ALL", "--die-with-parent"),
        *_files_of_the_machine(),
        *_files_of_its_own(),
        *("--remount-ro", "/"),
    ]


def _files_of_the_machine() -> Iterator[str]:
    yield from ("--ro-bind", "/usr", "/usr")
    for folder in map(Path, ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")):
        if folder.is_symlink():
            yield from ("--symlink", str(folder.readlink()), str(folder))
        else:
            yield from ("--ro-bind-try", str(folder), str(folder))
    for path in _SHARED_SETTINGS:
        yield from ("--ro-bind-try", path, path)
    python = interpreter()
    if python.prefix:
        yield from ("--ro-bind", f"{STAGE}/python", python.prefix)
    for link in ("python", "python3"):
        yield from ("--symlink", python.path, f"{_LINKS}/{link}")


def _files_of_its_own() -> Iterator[str]:
    for name in ("passwd", "group", "hosts", "nsswitch.conf", "resolv.conf"):
        yield from ("--ro-bind", f"{STAGE}/own/etc/{name}", f"/etc/{name}")
    yield from ("--ro-bind", f"{STAGE}/own/programs", PROGRAMS)
    yield from ("--proc", "/proc", "--dev", "/dev")
    yield from ("--bind", f"{STAGE}/shared-memory", _SHARED_MEMORY, "--remount-ro", "/dev")
    yield from ("--bind", f"{STAGE}/temporary", TEMPORARY)
    yield from ("--symlink", TEMPORARY, f"/var{TEMPORARY}")
    yield from ("--bind", f"{STAGE}/home", HOME)
    yield from ("--bind", f"{STAGE}/workspace", WORKSPACE)
    yield from ("--ro-bind", f"{STAGE}/skills", SKILLS)
