"""The shell commands that a SKILL.md documents."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from assay_skillkit.inline_commands import inline_commands
from assay_skillkit.json_size import first_within
from assay_skillkit.shell.blocks import BlockCommand, block_commands
from assay_skillkit.skill_md.markdown import FencedBlock, Markdown, plain_text

MAX_COMMANDS: Final = 200
MAX_COMMAND: Final = 2_000
MAX_BYTES: Final = 64 * 1024
"""Of all commands together, as JSON."""

_SHELLS: Final = frozenset({"bash", "sh", "shell", "zsh", "console", "terminal", "shell-session"})
_PROGRAMS: Final = re.compile(r"^(?:python3?|node|bash|sh|uv run|npx|deno|ruby|perl|\./)\b|^\./")
DATA_LANGUAGES: Final = frozenset(
    {"csv", "tsv", "json", "jsonl", "yaml", "yml", "xml", "html", "ini", "toml", "sql"}
    | {"text", "txt", "plaintext", "markdown", "md", "log", ""}
)
_OUTPUT_WORDS: Final = re.compile(
    r"\b(output|outputs|prints?|printed|produces?|returns?|result|results|response)\b",
    re.IGNORECASE,
)
_WARNS: Final = re.compile(
    r"[❌🚫⛔✗✘]|^\W*(?:bad|wrong|incorrect|don['’]?t|do not|never|avoid|anti-?pattern"
    r"|错误|不要|禁止|反例)(?!\w| forget| worry| hesitate| need)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class DocumentedCommand:
    command: str
    """As a shell would take it: prompt and comments gone, continued lines joined."""
    heading: str
    """Of the section it stands in."""
    lead: str
    """What is said right before it: the comment above it, else the paragraph above its block."""
    expected_output: str = ""
    """What it is documented to print; empty if nothing is."""
    written: str = ""
    """As it stands in the document, prompt gone, on as many lines."""
    line: int = 0
    """Where it begins in the body, counted from 1."""
    is_bad_example: bool = False
    """The document shows it as what not to do."""


def holds_commands(block: FencedBlock) -> bool:
    """Whether it is a shell block, by its language or, where it has none, by its first line."""
    if block.language in _SHELLS:
        return True
    first = next((line for line in block.lines if line.strip()), "")
    return not block.language and bool(_PROGRAMS.match(first.strip().removeprefix("$ ")))


def shows_output(block: FencedBlock) -> bool:
    """Whether it shows what a command prints, as the words above it say."""
    return block.language in DATA_LANGUAGES and bool(_OUTPUT_WORDS.search(block.lead))


def warns_against(said: str) -> bool:
    """Whether what is said right before a command, or above its block, is not to do it."""
    return bool(_WARNS.search(said))


def is_bad_example(block: FencedBlock) -> bool:
    """Whether it shows what not to do, by the words above it or its first line, a comment."""
    first = next((line.strip() for line in block.lines if line.strip()), "")
    return warns_against(block.lead) or (first.startswith("#") and warns_against(first))


def documented_commands(document: Markdown) -> tuple[DocumentedCommand, ...]:
    """Commands in order of appearance, with what is said about them.

    A command that goes on over several lines (a backslash, a loop, a here-document) is one. Those
    that stand in running text and in tables come where they stand, unless a block shows them.
    """
    blocks = tuple(_documented(document.blocks))
    shown = frozenset(word for each in blocks for word in each.command.split())
    inline = (
        DocumentedCommand(
            command=each.command,
            heading=each.heading,
            lead=plain_text(each.lead),
            written=each.command,
            line=each.line,
            is_bad_example=warns_against(each.lead),
        )
        for each in inline_commands(document, shown_in_blocks=shown)
    )
    return tuple(sorted((*blocks, *inline), key=lambda each: each.line))


def commands_as_written(document: Markdown) -> tuple[str, ...]:
    """The documented commands as they stand there, as many as go into a message."""
    found = (
        command.written
        for command in documented_commands(document)
        if len(command.written) <= MAX_COMMAND
    )
    return tuple(first_within(islice(found, MAX_COMMANDS), MAX_BYTES))


def _documented(blocks: Sequence[FencedBlock]) -> Iterator[DocumentedCommand]:
    for index, block in enumerate(blocks):
        if not holds_commands(block):
            continue
        bad = is_bad_example(block)
        found = [_in_block(block, each, bad=bad) for each in block_commands(block.lines)]
        after = blocks[index + 1] if index + 1 < len(blocks) else None
        if found and after and shows_output(after) and after.heading == block.heading:
            found[-1] = replace(found[-1], expected_output=found[-1].expected_output or after.text)
        yield from found


def _in_block(block: FencedBlock, each: BlockCommand, *, bad: bool) -> DocumentedCommand:
    return DocumentedCommand(
        command=each.command,
        heading=block.heading,
        lead=plain_text(each.comment or block.lead),
        expected_output=each.output,
        written=each.written,
        line=block.first_line + 1 + each.row,
        is_bad_example=bad or warns_against(each.comment),
    )
