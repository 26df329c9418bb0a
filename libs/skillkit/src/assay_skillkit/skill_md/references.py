"""The files that a SKILL.md points at."""

import posixpath
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from assay_contracts.skills import Finding
from assay_skillkit.commands import holds_commands, is_bad_example
from assay_skillkit.rules import skill as rules
from assay_skillkit.shell.lexer import fragments
from assay_skillkit.show import shown
from assay_skillkit.skill_md.markdown import FencedBlock, Markdown

MAX_MISSING: Final = 20

_LINK: Final = re.compile(
    r"\]\(\s*(?:<([^<>\n]{1,300})>|([^\s()<>]{1,300}))(?:\s+[\"'(][^\n)]{0,200})?\s*\)"
)
_CODE: Final = re.compile(r"`([^`\n]{1,300})`")
_SCHEME: Final = re.compile(r"^(?:[A-Za-z][A-Za-z0-9+.-]*:|//|#|/|~)")
_PLACEHOLDER: Final = re.compile(
    r"[<>{}$*?\[\]|…]|\.\.\.|\bpath/to\b"
    r"|(?:^|/)(?:(?:your|my|some)[-_.][^/]*|(?:foo|bar|baz|xxx+|examples?|script|file|name)\.\w+"
    r"|[A-Z][A-Z_]{2,}\.\w+)$"
)
_BUNDLED: Final = re.compile(r"^(?:\./)?((?:scripts|references?|assets)/[^\s'\"`;|&()=,:]*[\w])$")
"""The folders that the specification gives a meaning; other paths in code are mostly outputs."""
_FOR_INSTANCE: Final = re.compile(
    r"\be\.g\.|\bfor (?:example|instance)\b|\bsuch as\b|\bexamples?\s*[:*]|例如|比如|譬如",
    re.IGNORECASE,
)
_TO_BE_MADE: Final = re.compile(
    r"\b(?:creat|sav|writ|generat|produc|export|output|stor|add|put|plac|mak)\w*\b"
    r"|[创新]建|保存|生成|写入|输出",
    re.IGNORECASE,
)
_MAKES_ALL_IT_NAMES: Final = frozenset({"touch", "mkdir", "tee", "rm", "vim", "nano", "code"})
_MAKES_THE_LAST: Final = frozenset({"cp", "mv", "ln", "install"})
_OUTPUT_OPTION: Final = re.compile(r"^--?(?:o|out|output|dest|save)[\w-]*$")


@dataclass(frozen=True, slots=True)
class _Target:
    """A path that the document points at."""

    path: str
    line: int
    """Of the body."""


def reference_problems(
    body: Markdown, first_line: int, files: Collection[str], path: str
) -> Iterator[Finding]:
    """References in `body` to what is not among `files`: the first of each, with its line."""
    known = _with_folders(files)
    made, read = _in_commands(body.blocks)
    reported: set[str] = set()
    for target in (*read, *_in_prose(body)):
        place = posixpath.normpath(unicodedata.normalize("NFC", target.path))
        if place in reported or place in known or place in made:
            continue
        reported.add(place)
        yield _missing(target, place, files, path, first_line + target.line - 1)
        if len(reported) >= MAX_MISSING:
            return


def _missing(target: _Target, place: str, files: Collection[str], path: str, line: int) -> Finding:
    if place.startswith(".."):
        return rules.REFERENCE_OUTSIDE.at(
            f"SKILL.md points at `{shown(target.path)}`, outside the skill.", path, line
        )
    message = f"SKILL.md points at `{shown(target.path)}`, which is not in the skill"
    meant = _meant(place, files)
    there = f"; `{shown(meant)}` is" if meant else ""
    return rules.REFERENCE_MISSING.at(f"{message}{there}.", path, line)


def _with_folders(files: Iterable[str]) -> set[str]:
    """The files and their folders, from the skill's folder and from each folder on the way."""
    known = {"."}
    for file in files:
        parts = file.split("/")
        known.update("/".join(parts[:end]) for end in range(1, len(parts) + 1))
        known.update("/".join(parts[start:]) for start in range(1, len(parts)))
    return known


def _meant(place: str, files: Iterable[str]) -> str | None:
    """The one file of that name in another folder (`reference/`, not `references/`) or case."""
    name = posixpath.basename(place).casefold()
    same_name = [file for file in files if posixpath.basename(file).casefold() == name]
    return same_name[0] if len(same_name) == 1 else None


def _in_commands(blocks: Iterable[FencedBlock]) -> tuple[set[str], list[_Target]]:
    """What the documented commands make, and the skill's files that they name."""
    made: set[str] = set()
    read: list[_Target] = []
    for block in blocks:
        if holds_commands(block) and not is_bad_example(block):
            for number, row in enumerate(block.lines, start=block.first_line + 1):
                outputs, inputs = _row_targets(row)
                made.update(posixpath.normpath(path) for path in outputs)
                read.extend(_Target(path, number) for path in inputs)
    return made, read


def _row_targets(row: str) -> tuple[list[str], list[str]]:
    """What one line of commands makes, and what it reads, of paths in a skill's folders."""
    made: list[str] = []
    read: list[str] = []
    words: list[str] = []
    next_is_made = False
    for fragment in (*fragments(row), None):
        if fragment is None or (fragment.kind == "operator" and not fragment.text.endswith(">")):
            _sort_words(words, made, read)
            words = []
        elif fragment.kind == "operator":
            next_is_made = True
        elif fragment.kind in ("bare", "quoted"):
            (made if next_is_made else words).append(fragment.value)
            next_is_made = False
        elif fragment.kind == "comment":
            break
    _sort_words(words, made, read)
    return _bundled(made), _bundled(read)


def _sort_words(words: list[str], made: list[str], read: list[str]) -> None:
    program = posixpath.basename(words[0]) if words else ""
    for at, word in enumerate(words):
        is_made = (
            program in _MAKES_ALL_IT_NAMES
            or (program in _MAKES_THE_LAST and at == len(words) - 1)
            or (at > 0 and _OUTPUT_OPTION.match(words[at - 1]) is not None)
        )
        (made if is_made else read).append(word)


def _bundled(words: Iterable[str]) -> list[str]:
    found = (_BUNDLED.match(word.strip("\"',")) for word in words)
    return [match[1] for match in found if match and not _PLACEHOLDER.search(match[1])]


def _in_prose(body: Markdown) -> Iterator[_Target]:
    for number, row in body.prose:
        for match in _CODE.finditer(row):
            before = row[: match.start()]
            if not _FOR_INSTANCE.search(before) and not _TO_BE_MADE.search(before):
                yield from (_Target(path, number) for path in _bundled(match[1].split()))
        for match in _LINK.finditer(_CODE.sub("", row)):
            if path := _linked(match[1] or match[2]):
                yield _Target(path, number)


def _linked(target: str) -> str | None:
    if _SCHEME.match(target) or _PLACEHOLDER.search(target):
        return None
    plain = unquote(re.split("[#?]", target, maxsplit=1)[0])
    return None if any(unicodedata.category(c) == "Cc" for c in plain) else plain or None
