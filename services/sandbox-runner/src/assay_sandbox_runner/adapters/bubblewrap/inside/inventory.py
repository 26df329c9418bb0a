"""Lists what is installed for Python and Node inside the sandbox, as JSON.

Reads what the packages say of themselves and runs none of their code.
"""

from __future__ import annotations

import json
import os
import site
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


if __name__ == "__main__":
    print(json.dumps([*_python(), *_node()]))  # noqa: T201
