"""Tells what a machine has from the start, as JSON: its Python, its commands, its modules.

A program that stands alone. Its arguments are the folders that commands lie in. Modules are those
that a package installed for the user could hide, each with the package that it belongs to, or
nothing where none says that it does.
"""

from __future__ import annotations

import json
import site
import sys
from pathlib import Path


def _names_in(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir())
    except OSError:
        return []


def _owners(info: Path) -> dict[str, str]:
    owner = info.stem.split("-", 1)[0]
    owners = {owner.lower(): owner}
    try:
        said = (info / "top_level.txt").read_text(encoding="utf-8", errors="replace")
        owners.update(dict.fromkeys(said.split(), owner))
    except OSError:
        pass
    return owners


def _modules(folder: Path) -> dict[str, str]:
    found: list[str] = []
    owners: dict[str, str] = {}
    for name in _names_in(folder):
        if name.endswith((".dist-info", ".egg-info")):
            owners.update(_owners(folder / name))
        elif name.endswith((".py", ".so")) or (folder / name / "__init__.py").exists():
            found.append(name.split(".", 1)[0])
    return {module: owners.get(module, "") for module in found}


def main() -> None:
    modules: dict[str, str] = {}
    for folder in reversed(site.getsitepackages()):
        modules.update(_modules(Path(folder)))
    answer = {
        "python_version": ".".join(str(part) for part in sys.version_info[:2]),
        "commands": sorted({name for each in sys.argv[1:] for name in _names_in(Path(each))}),
        "modules": modules,
    }
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
