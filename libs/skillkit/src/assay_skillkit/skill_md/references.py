"""The files that a SKILL.md points at."""

import posixpath
import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import unquote

from assay_contracts.skills import Finding
from assay_skillkit.commands import holds_commands
from assay_skillkit.rules import skill as rules
from assay_skillkit.show import shown
from assay_skillkit.skill_md.markdown import FencedBlock, Markdown

MAX_MISSING: Final = 20

_LINK: Final = re.compile(
    r"\]\(\s*(?:<([^<>\n]{1,300})>|([^\s()<>]{1,300}))(?:\s+[\"'(][^\n)]{0,200})?\s*\)"
)
_CODE: Final = re.compile(r"`([^`\n]{1,300})`")
_SCHEME: Final = re.compile(r"^(?:[A-Za-z][A-Za-z0-9+.-]*:|//|#|/|~)")
_PLACEHOLDER: Final = re.compile(r"[<>{}$*?\[\]|…]|\.\.\.")
_BUNDLED: Final = re.compile(r"^(?:\./)?((?:scripts|references)/[^\s'\"`;|&()=,:]*[\w])$")
"""The folders that the specification gives a meaning; other paths in code are mostly outputs."""


def reference_problems(
    body: Markdown, first_line: int, files: Iterable[str], path: str
) -> Iterator[Finding]:
    """References in `body` to what is not among `files`: the first of each, with its line."""
    known = _with_folders(files)
    reported: set[str] = set()
    for target, line in _targets(body):
        place = posixpath.normpath(unicodedata.normalize("NFC", target))
        if place in reported or place in known:
            continue
        reported.add(place)
        at = first_line + line - 1
        if place.startswith(".."):
            yield rules.REFERENCE_OUTSIDE.at(
                f"SKILL.md points at `{shown(target)}`, outside the skill.", path, at
            )
        else:
            yield rules.REFERENCE_MISSING.at(
                f"SKILL.md points at `{shown(target)}`, which is not in the skill.", path, at
            )
        if len(reported) >= MAX_MISSING:
            return


def _with_folders(files: Iterable[str]) -> set[str]:
    known = {"."}
    for file in files:
        parts = file.split("/")
        known.update("/".join(parts[:end]) for end in range(1, len(parts) + 1))
    return known


def _targets(body: Markdown) -> Iterator[tuple[str, int]]:
    """Each path pointed at, with its line in `body`: those in commands, then those in prose."""
    for block in body.blocks:
        if holds_commands(block):
            yield from _command_targets(block)
    for number, row in body.prose:
        for match in _CODE.finditer(row):
            for word in match[1].split():
                yield from _bundled(word, number)
        for match in _LINK.finditer(_CODE.sub("", row)):
            yield from _linked(match[1] or match[2], number)


def _command_targets(block: FencedBlock) -> Iterator[tuple[str, int]]:
    for number, row in enumerate(block.lines, start=block.first_line + 1):
        for word in row.split(" #")[0].split():
            yield from _bundled(word, number)


def _bundled(word: str, line: int) -> Iterator[tuple[str, int]]:
    match = _BUNDLED.match(word.strip("\"',"))
    if match and not _PLACEHOLDER.search(match[1]):
        yield match[1], line


def _linked(target: str, line: int) -> Iterator[tuple[str, int]]:
    if _SCHEME.match(target) or _PLACEHOLDER.search(target):
        return
    plain = unquote(re.split("[#?]", target, maxsplit=1)[0])
    if plain and not any(unicodedata.category(c) == "Cc" for c in plain):
        yield plain, line
