"""Lists what is installed for Python and Node inside the sandbox, as JSON.

A program that stands alone: the sandbox's own Python runs this one file. It reads what the packages
say of themselves and runs none of their code. With the argument `system` it also lists what the
system's own package manager has installed.

Each package is `[ecosystem, name, version, needs, place]`; what it needs is as its metadata has it,
but for packages of the system, where it is the names of the installed packages that meet the need.
The place is that of a Node package below the user's shared `node_modules`, and empty elsewhere.
"""

from __future__ import annotations

import json
import os
import re
import site
import stat
import sys
from collections.abc import Iterator

Entry = tuple[str, str, str, list[str], str]

STATUS = "/var/lib/dpkg/status"
_METADATA_BYTES = 256 * 1024
_MOST_NEEDS = 200
_LONGEST_NEED = 300
_MOST_NODE_PACKAGES = 5000
_SYSTEM_NEEDS = ("Depends", "Pre-Depends", "Recommends")


def _python() -> Iterator[Entry]:
    """The distribution that an import would find comes first, and hides the others of its name."""
    seen = set()
    for folder in (site.getusersitepackages(), *site.getsitepackages()):
        for path in _metadata_files(folder):
            try:
                head = _read(path).split("\n\n", 1)[0]
            except OSError:
                continue
            fields = [line.split(": ", 1) for line in head.splitlines() if ": " in line]
            first = {field[0].lower(): field[1].strip() for field in reversed(fields)}
            name, version = first.get("name"), first.get("version")
            if not name or not version:
                continue
            key = re.sub(r"[-_.]+", "-", name).lower()
            if key in seen:
                continue
            seen.add(key)
            needs = [field[1].strip() for field in fields if field[0].lower() == "requires-dist"]
            yield "pip", name, version, _bounded(needs), ""


def _read(path: str) -> str:
    """The beginning of a plain file; a pipe that nobody writes to must not keep us waiting."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(path + " is no file")
        return file.read(_METADATA_BYTES).decode("utf-8", errors="replace")


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """What lies in a folder, by name; nothing where it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # links in a circle, for one
        return False


def _metadata_files(folder: str) -> Iterator[str]:
    for entry in _entries(folder):
        if entry.name.endswith(".dist-info"):
            yield entry.path + "/METADATA"
        elif entry.name.endswith(".egg-info"):
            yield entry.path + "/PKG-INFO" if _is_folder(entry) else entry.path


def _node_folders(root: str) -> Iterator[str]:
    """The packages below a folder of modules, and those that they keep for themselves."""
    for entry in _entries(root):
        if entry.is_symlink():
            continue
        if entry.name.startswith("@"):
            yield from _node_folders(entry.path)
        else:
            yield entry.path
            yield from _node_folders(entry.path + "/node_modules")


def _node() -> Iterator[Entry]:
    shared = os.environ["NPM_CONFIG_PREFIX"] + "/lib/node_modules"
    roots = (
        shared,
        os.environ["HOME"] + "/node_modules",
        "/usr/local/lib/node_modules",
        "/usr/lib/node_modules",
    )
    left = _MOST_NODE_PACKAGES
    for folder in (folder for root in roots for folder in _node_folders(root)):
        left -= 1
        if left < 0:
            return
        try:
            package = json.loads(_read(folder + "/package.json"))
            needs = [
                str(name) + "@" + str(wanted)
                for kind in ("dependencies", "optionalDependencies", "peerDependencies")
                for name, wanted in (package.get(kind) or {}).items()
            ]
            place = folder[len(shared) + 1 :] if folder.startswith(shared + "/") else ""
            yield "npm", str(package["name"]), str(package["version"]), _bounded(needs), place
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue


def system_packages(status: str = STATUS) -> Iterator[Entry]:
    """What dpkg says is installed; nothing where it keeps no list."""
    try:
        descriptor = os.open(status, os.O_RDONLY)
        with os.fdopen(descriptor, encoding="utf-8", errors="replace") as file:
            paragraphs = file.read().split("\n\n")
    except OSError:
        return
    installed = [
        fields
        for fields in map(_fields, paragraphs)
        if fields.get("Status", "").endswith(" installed") and "Version" in fields
    ]
    providers: dict[str, list[str]] = {}
    for fields in installed:
        for name in (fields["Package"], *_names(fields.get("Provides", ""))):
            providers.setdefault(name, []).append(fields["Package"])
    for fields in installed:
        wanted = (name for kind in _SYSTEM_NEEDS for name in _names(fields.get(kind, "")))
        needs = {provider for name in wanted for provider in providers.get(name, ())}
        yield "system", fields["Package"], fields["Version"], _bounded(sorted(needs)), ""


def _fields(paragraph: str) -> dict[str, str]:
    return {
        line.split(": ", 1)[0]: line.split(": ", 1)[1]
        for line in paragraph.splitlines()
        if ": " in line[1:] and line[0] != " "
    }


def _names(relation: str) -> list[str]:
    """Every package that a relation such as `a (>= 1), b:any | c` speaks of."""
    alternatives = re.split(r"[,|]", relation)
    return [re.split(r"[\s(:]", each.strip(), maxsplit=1)[0] for each in alternatives if each]


def _bounded(needs: list[str]) -> list[str]:
    return [need for need in needs if len(need) <= _LONGEST_NEED][:_MOST_NEEDS]


def _interpreter() -> dict[str, str]:
    """What decides which of a Python package's needs apply, by its names in the standard."""
    machine, version = os.uname(), ".".join(str(part) for part in sys.version_info[:3])
    implementation = sys.implementation
    return {
        "implementation_name": implementation.name,
        "implementation_version": ".".join(str(part) for part in implementation.version[:3]),
        "os_name": os.name,
        "platform_machine": machine.machine,
        "platform_python_implementation": {"cpython": "CPython", "pypy": "PyPy"}.get(
            implementation.name, implementation.name
        ),
        "platform_release": machine.release,
        "platform_system": machine.sysname,
        "platform_version": machine.version,
        "python_full_version": version,
        "python_version": ".".join(version.split(".")[:2]),
        "sys_platform": sys.platform,
    }


if __name__ == "__main__":
    system = system_packages() if "system" in sys.argv[1:] else ()
    answer = {"packages": [*_python(), *_node(), *system], "interpreter": _interpreter()}
    sys.stdout.write(json.dumps(answer) + "\n")
