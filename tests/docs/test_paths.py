"""Every file, folder, module, name and page that a page speaks of is there."""

import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Final

import pytest
from tests.architecture.packages import PACKAGES, ROOT, home, import_name, modules, source
from tests.docs.pages import GUIDES, PAGES, code_in, links_in, name_of

FOLDERS: Final = {"bench", "cli", "docs", "examples", "libs", "services", "tests"}
PATH: Final = re.compile(r"[\w.-]+(/[\w.-]+)*/?")
MODULE: Final = re.compile(r"assay_\w+(\.\w+)+")
NAME: Final = re.compile(r"_?[A-Z][A-Z_]{3,}|([A-Z][a-z]+){2,}")
"""A constant or a class."""
FOREIGN: Final = {"EventSource"}


@cache
def tracked() -> frozenset[Path]:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return frozenset(ROOT / line for line in listed.stdout.splitlines())


def about(page: Path) -> tuple[str, ...]:
    """The packages whose files the page may name from inside them."""
    if page in GUIDES:
        return PACKAGES
    return tuple(package for package in PACKAGES if home(package) == page.parent)


def is_path(code: str) -> bool:
    if not PATH.fullmatch(code):
        return False
    return code.endswith(".py") or ("/" in code and (code[-1] == "/" or first(code) in FOLDERS))


def first(path: str) -> str:
    return path.partition("/")[0]


def is_there(path: str, page: Path) -> bool:
    packages = about(page)
    bases = (ROOT, page.parent, *(source(package) for package in packages))
    if any((base / path).exists() for base in bases):
        return True
    if "/" in path:
        return False
    homes = [home(package) for package in packages]
    return any(file.name == path and set(homes) & set(file.parents) for file in tracked())


def is_importable(module: str) -> bool:
    """Whether the name is a module's, or one that stands in a module."""
    package, *names = module.split(".")
    places = {import_name(each): source(each) for each in PACKAGES}
    place = places.get(package)
    while place and names:
        name = names.pop(0)
        if (place / name).is_dir():
            place /= name
            continue
        file = place / f"{name}.py"
        text = (file if file.is_file() else place / "__init__.py").read_text()
        wanted = names if file.is_file() else [name, *names]
        return all(re.search(rf"\b{each}\b", text) for each in wanted)
    return place is not None


@cache
def names_in_source() -> frozenset[str]:
    sources = (path.read_text() for package in PACKAGES for path in modules(package))
    return frozenset(re.findall(r"\w+", "\n".join(sources)))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_path_is_there(page: Path) -> None:
    missing = {code for code in code_in(page) if is_path(code) and not is_there(code, page)}
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_module_is_there(page: Path) -> None:
    missing = {code for code in code_in(page) if MODULE.fullmatch(code) and not is_importable(code)}
    assert not missing


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=name_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    missing = {
        link for link in links_in(page) if not (page.parent / link.partition("#")[0]).exists()
    }
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_name_is_in_the_source(page: Path) -> None:
    names = {code for code in code_in(page) if NAME.fullmatch(code)}
    assert not names - names_in_source() - FOREIGN


def test_every_page_is_reached_from_the_index() -> None:
    index = {(ROOT / "docs" / link).resolve() for link in links_in(ROOT / "docs" / "README.md")}
    decisions = ROOT / "docs" / "decisions"
    reached = {page for page in PAGES if page in index or page.parent == decisions}
    assert set(PAGES) - reached == {ROOT / "docs" / "README.md"}
