"""Archives inside the archive: never unpacked, but looked at, so that a bomb is seen."""

import io
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from assay_contracts.skills import Finding
from assay_skillkit.archive.zip_index import BadArchive, Index, read_index
from assay_skillkit.limits import Limits
from assay_skillkit.rules import archive as rules
from assay_skillkit.tree import Tree, read_start

_ARCHIVES: Final = frozenset(
    {".zip", ".skill", ".7z", ".rar", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".zst", ".jar", ".whl"}
)
_DOCUMENTS: Final = frozenset(
    {".docx", ".xlsx", ".pptx", ".dotx", ".xltx", ".potx", ".odt", ".ods", ".odp", ".epub"}
)
"""Zips by their bytes, which a skill may well carry as templates."""
_SIGNATURES: Final = (
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"\x1f\x8b",
    b"7z\xbc\xaf",
    b"Rar!",
    b"\xfd7zXZ",
)
_ZIP: Final = _SIGNATURES[:2]


def nested_problems(tree: Tree, limits: Limits) -> Iterator[Finding]:
    listed = 0
    for path, size in tree.sizes.items():
        if size < len(_SIGNATURES[0]):
            continue
        start = read_start(tree, path, 8)
        if not start.startswith(_SIGNATURES):
            continue
        if start.startswith(_ZIP):
            count, problems = _look_into(tree, path, limits)
            yield from problems
            listed += count
            if listed > limits.nested_entries:
                yield rules.NESTED_BOMB.at(
                    f"The archives inside list more than {limits.nested_entries:,} files.", path
                )
                return
        if _suffix(path) not in _DOCUMENTS:
            yield rules.NESTED_ARCHIVE.at(
                "The file is an archive itself; what is inside it is not checked.", path
            )


def _look_into(tree: Tree, path: str, limits: Limits) -> tuple[int, list[Finding]]:
    """How many entries the zip at `path` lists, and what is wrong with them."""
    content = io.BytesIO()
    for chunk in tree.chunks(path):
        content.write(chunk)
    try:
        index = read_index(content, limits)
    except BadArchive as error:
        if error.finding.code not in (rules.TOO_MANY_ENTRIES.code, rules.INDEX_TOO_LARGE.code):
            return 0, []
        return 0, [rules.NESTED_BOMB.at(f"The archive inside: {error.finding.message}", path)]
    problems: list[Finding] = []
    if _is_bomb(index, content.getbuffer().nbytes, limits):
        problems.append(
            rules.NESTED_BOMB.at(
                "The archive inside would grow out of all proportion when it is unpacked.", path
            )
        )
    if any(_suffix(entry.shown_name) in _ARCHIVES for entry in index.entries):
        problems.append(rules.NESTED_DEEP.at("The archive inside holds further archives.", path))
    return len(index.entries), problems


def _is_bomb(index: Index, size: int, limits: Limits) -> bool:
    total = sum(entry.size for entry in index.entries)
    packed = sum(entry.packed for entry in index.entries)
    return (
        total > limits.unpacked
        or packed > size
        or (total > limits.ratio_from and total > limits.ratio * size)
    )


def _suffix(path: str) -> str:
    return PurePosixPath(path).suffix.lower()
