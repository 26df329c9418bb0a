"""Archives inside the archive: never unpacked, but looked at, so that a bomb is seen."""

import io
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from assay_contracts.skills import Finding
from assay_ingest.domain import archive_rules as rules
from assay_ingest.domain.limits import Limits
from assay_ingest.domain.tree import Tree, read_start
from assay_ingest.domain.zipindex import BadArchive, Index, read_index

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
    for path, size in tree.sizes.items():
        if size < len(_SIGNATURES[0]):
            continue
        start = read_start(tree, path, 8)
        if not start.startswith(_SIGNATURES):
            continue
        if start.startswith(_ZIP):
            yield from _zip_problems(tree, path, limits)
        if _suffix(path) not in _DOCUMENTS:
            yield rules.NESTED_ARCHIVE.at(
                "The file is an archive itself; what is inside it is not checked.", path
            )


def _zip_problems(tree: Tree, path: str, limits: Limits) -> Iterator[Finding]:
    content = io.BytesIO()
    for chunk in tree.chunks(path):
        content.write(chunk)
    try:
        index = read_index(content, limits)
    except BadArchive as error:
        if error.finding.code in (rules.TOO_MANY_ENTRIES.code, rules.INDEX_TOO_LARGE.code):
            yield rules.NESTED_BOMB.at(f"The archive inside: {error.finding.message}", path)
        return
    if _is_bomb(index, content.getbuffer().nbytes, limits):
        yield rules.NESTED_BOMB.at(
            "The archive inside would grow out of all proportion when it is unpacked.", path
        )
    if any(_suffix(entry.shown_name) in _ARCHIVES for entry in index.entries):
        yield rules.NESTED_DEEP.at("The archive inside holds further archives.", path)


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
