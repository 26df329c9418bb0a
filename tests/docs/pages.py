"""The pages that people read, and what stands in them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.architecture.packages import PACKAGES, ROOT, home

GUIDES: Final = (
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
)
READMES: Final = tuple(
    readme for package in PACKAGES if (readme := home(package) / "README.md").is_file()
)
PAGES: Final = (*GUIDES, *READMES)

_FENCED: Final = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_CODE: Final = re.compile(r"`([^`\n]+)`")
_LINK: Final = re.compile(r"\]\(([^)\s]+)\)")
_TABLE_ROW: Final = re.compile(r"^\| (.+) \|$", re.MULTILINE)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def code_in(page: Path) -> set[str]:
    """Everything in backticks, outside of blocks."""
    return set(_CODE.findall(_FENCED.sub("", page.read_text())))


def prose_of(page: Path) -> str:
    """The words, without blocks, code and addresses of links."""
    return _LINK.sub("]", _CODE.sub("", _FENCED.sub("", page.read_text())))


def links_in(page: Path) -> set[str]:
    """Addresses of links to files of ours."""
    return {
        link for link in _LINK.findall(page.read_text()) if not link.startswith(("http", "mailto"))
    }


def rows_of(text: str) -> Iterator[list[str]]:
    """The rows of all tables in it, without their heads."""
    for table in re.split(r"\n\n+", text):
        rows = [row.split(" | ") for row in _TABLE_ROW.findall(table)]
        yield from rows[1:]
