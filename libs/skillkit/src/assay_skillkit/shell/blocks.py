"""Shell blocks, read the way a person does: which lines are commands, which are what they print."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from assay_skillkit.shell.lexer import command_end, fragments

_PROMPT: Final = re.compile(r"^\s*(?:\([\w.-]+\)\s*)?(?:[\w.@~:/-]*\$|%|❯)\s+")
_PROMPT_TO_GO_ON: Final = re.compile(r"^\s*>\s?")
_CONTINUATION: Final = re.compile(r"[ \t]*\\\n\s*")


@dataclass(frozen=True, slots=True)
class BlockCommand:
    """One complete command of a block."""

    written: str
    """As it stands there, on as many lines, without its prompt."""
    comment: str = ""
    """The comment lines right above it, or the one behind it."""
    output: str = ""
    """What the block shows it printing; only blocks with prompts do."""
    row: int = 0
    """Where it begins in the block, counted from 0."""

    @property
    def command(self) -> str:
        """To be run: continued lines joined, without the comment behind it."""
        return _without_comment(_CONTINUATION.sub(" ", self.written))[0]


def block_commands(lines: Sequence[str]) -> tuple[BlockCommand, ...]:
    """The commands of a fenced shell block, in order.

    Where any line has a prompt (`$ `), only those with one are commands and the rest is output.
    """
    rows = [line.rstrip() for line in lines]
    if any(_PROMPT.match(row) for row in rows):
        return tuple(_prompted(rows))
    return tuple(_bare("\n".join(rows)))


def _bare(text: str) -> Iterator[BlockCommand]:
    comments: list[str] = []
    at = row = 0
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end].strip()
        if not line:
            comments = []
        elif line.startswith("#"):
            comments.append(_said(line))
        else:
            end = command_end(text, at)
            yield _block_command(text[at:end], comments, (), row)
            comments = []
        row += text.count("\n", at, end) + 1
        at = end + 1


def _prompted(lines: Sequence[str]) -> Iterator[BlockCommand]:
    comments: list[str] = []
    for start, first, rows_below in _from_prompt_to_prompt(lines):
        line = _PROMPT.sub("", first)
        if not line.strip():
            continue
        if line.startswith("#"):
            comments.append(_said(line))
            continue
        text = "\n".join([line, *(_PROMPT_TO_GO_ON.sub("", row) for row in rows_below)])
        end = command_end(text)
        output = rows_below[text.count("\n", 0, end) :]
        yield _block_command(text[:end], comments, output, start)
        comments = []


def _from_prompt_to_prompt(lines: Sequence[str]) -> Iterator[tuple[int, str, Sequence[str]]]:
    starts = [at for at, line in enumerate(lines) if _PROMPT.match(line)]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield start, lines[start], lines[start + 1 : end]


def _said(comment: str) -> str:
    return comment.lstrip("#! ").strip()


def _block_command(
    text: str, comments: Sequence[str], output: Sequence[str], row: int
) -> BlockCommand:
    written = text.strip()
    _, behind = _without_comment(_CONTINUATION.sub(" ", written))
    return BlockCommand(
        written=written,
        comment=" ".join(comments) or behind,
        output="\n".join(output).strip("\n"),
        row=row,
    )


def _without_comment(command: str) -> tuple[str, str]:
    """The command, and what the comment behind it says; inside a longer one comments stay."""
    if "\n" in command:
        return command, ""
    at = 0
    for fragment in fragments(command):
        if fragment.kind == "comment":
            return command[:at].rstrip(), _said(fragment.text)
        at += len(fragment.text)
    return command, ""
