"""A Markdown text taken apart into its fenced blocks and the prose around them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from markdown_it import MarkdownIt

MAX_CHARACTERS: Final = 128 * 1024
"""In which blocks are looked for: what is behind them is prose. The time is for hostile texts."""

_HEADING: Final = re.compile(r"^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_LINK: Final = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_LIST_MARK: Final = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
_EMPHASIS: Final = re.compile(r"[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}")


@dataclass(frozen=True, slots=True)
class FencedBlock:
    info: str
    """What stands behind its opening fence."""
    lines: tuple[str, ...]
    first_line: int
    """Where its opening fence stands in the text, counted from 1."""
    last_line: int
    """Its closing fence; where it has none, its last line."""
    heading: str = ""
    """Of the section it stands in."""
    lead: str = ""
    """The paragraph right above it."""

    @property
    def language(self) -> str:
        words = self.info.strip().strip("{}").lstrip(".").split()
        return words[0].lower() if words else ""

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@dataclass(frozen=True, slots=True)
class Markdown:
    title: str
    """The first heading."""
    prose: tuple[tuple[int, str], ...]
    """The lines outside fenced blocks, each with its number, counted from 1."""
    blocks: tuple[FencedBlock, ...]


def read_markdown(text: str) -> Markdown:
    """Take `text` apart; a line feed alone ends its lines."""
    blocks: list[FencedBlock] = []
    prose: list[tuple[int, str]] = []
    paragraph: list[str] = []
    title = heading = ""
    after_blank = False
    fences = {block.first_line: block for block in _fences(text[:MAX_CHARACTERS])}
    fenced_to = 0
    for number, line in enumerate(text.split("\n"), start=1):
        if number <= fenced_to:
            continue
        if fence := fences.get(number):
            blocks.append(replace(fence, heading=heading, lead=" ".join(paragraph)))
            paragraph, fenced_to = [], fence.last_line
            continue
        prose.append((number, line))
        section = _HEADING.match(line)
        if section:
            heading, paragraph = plain_text(section[2]), []
            title = title or heading
        elif line.strip():
            paragraph = [] if after_blank else paragraph
            paragraph.append(line.strip())
        after_blank = not line.strip()
    return Markdown(title=title, prose=tuple(prose), blocks=tuple(blocks))


def plain_text(markdown: str) -> str:
    """A line of Markdown without links, emphasis and list marks."""
    text = _LIST_MARK.sub("", _LINK.sub(r"\1", markdown))
    return " ".join(_EMPHASIS.sub("", text).split())


def _fences(text: str) -> Iterator[FencedBlock]:
    for token in _PARSER.parse(text):
        if token.type == "fence" and token.map is not None:
            lines = token.content.removesuffix("\n").split("\n") if token.content else ()
            yield FencedBlock(token.info, tuple(lines), token.map[0] + 1, token.map[1])


def _block_parser() -> MarkdownIt:
    """CommonMark as far as it bears on where a fenced block begins and ends."""
    parser = MarkdownIt("commonmark")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser.disable(["reference", "lheading"])


_PARSER: Final = _block_parser()
