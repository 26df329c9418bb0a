"""Lists what is installed for Python and Node inside the sandbox, as JSON.

Reads what the packages say of themselves and runs none of their code. With the argument `system`
it also lists what the system's own package manager has installed.
"""

from __future__ import annotations

import json
import os
import site
import sys
from collections.abc import Iterator
from importlib import metadata


def _python() -> Iterator[list[str]]:
    folders = [site.getusersitepackages(), *site.getsitepackages()]
    for distribution in metadata.distributions(path=folders):
        try:
            name, version = distribution.metadata["Name"], distribution.version
        except Exception:  # noqa: BLE001, S112 - whatever is wrong with it, it is not installed well
            continue
        if name and version:
            yield ["pip", str(name), str(version)]


def _node_folders(root: str) -> Iterator[str]:
    try:
        entries = os.listdir(root)  # noqa: PTH208
    except OSError:
        return
    for entry in entries:
        path = root + "/" + entry
        if entry.startswith("@"):
            yield from _node_folders(path)
        else:
            yield path


def _node() -> Iterator[list[str]]:
    for root in (
        os.environ["NPM_CONFIG_PREFIX"] + "/lib/node_modules",
        os.environ["HOME"] + "/node_modules",
        "/usr/local/lib/node_modules",
        "/usr/lib/node_modules",
    ):
        for folder in _node_folders(root):
            try:
                with open(folder + "/package.json", encoding="utf-8") as file:  # noqa: PTH123
                    package = json.load(file)
                yield ["npm", str(package["name"]), str(package["version"])]
            except (OSError, ValueError, KeyError, TypeError):
                continue


def _system() -> Iterator[list[str]]:
    try:
        with open("/var/lib/dpkg/status", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            paragraphs = file.read().split("\n\n")
    except OSError:
        return
    for paragraph in paragraphs:
        fields = dict(
            line.split(": ", 1)
            for line in paragraph.splitlines()
            if ": " in line[1:] and line[0] != " "
        )
        if fields.get("Status", "").endswith(" installed"):
            yield ["system", fields["Package"], fields["Version"]]


if __name__ == "__main__":
    system = _system() if "system" in sys.argv[1:] else ()
    print(json.dumps([*_python(), *_node(), *system]))  # noqa: T201
