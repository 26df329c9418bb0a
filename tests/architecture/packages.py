"""The packages of this repository, and what their source says."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
SERVICES: Final = ("ingest", "sandbox-runner", "judge", "scorer", "gateway")
LIBRARIES: Final = tuple(sorted(path.parent.name for path in ROOT.glob("libs/*/pyproject.toml")))
SHIPPED: Final = (*SERVICES, *(name for name in LIBRARIES if name != "testkit"), "cli")
"""Everything that is installed to be used; `testkit` is for tests alone."""
PACKAGES: Final = (*SHIPPED, "testkit")


def import_name(package: str) -> str:
    return f"assay_{package.replace('-', '_')}"


def home(package: str) -> Path:
    """The folder with the package's pyproject.toml."""
    if package == "cli":
        return ROOT / "cli"
    return ROOT / ("services" if package in SERVICES else "libs") / package


def source(package: str) -> Path:
    return home(package) / "src" / import_name(package)


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def modules(package: str, below: str = "") -> list[Path]:
    return sorted((source(package) / below).rglob("*.py"))


def imports(path: Path) -> Iterator[str]:
    """Every module that the file imports, wherever in it."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module


def names_imported(path: Path) -> Iterator[tuple[str, str]]:
    """Every `(module, name)` of a `from module import name`."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield from ((node.module, alias.name) for alias in node.names)


def top(module: str) -> str:
    return module.partition(".")[0]
