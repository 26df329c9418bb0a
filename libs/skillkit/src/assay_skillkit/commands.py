"""The shell commands that a SKILL.md documents."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from assay_skillkit.fitting import fitting

MAX_COMMANDS: Final = 200
MAX_COMMAND: Final = 2_000
MAX_BYTES: Final = 64 * 1024
"""Of all commands together."""

_FENCE: Final = re.compile(r"^(?P<indent>[ \t]*)(?P<ticks>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*)$")
_SHELLS: Final = frozenset({"bash", "sh", "shell", "zsh", "console", "terminal", "shell-session"})
_PROMPT: Final = re.compile(r"^\s*(?:[\w.@~:/-]+)?\$\s+")
_HEREDOC: Final = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")
_OPENERS: Final = frozenset({"if", "for", "while", "until", "case", "select"})
_CLOSERS: Final = frozenset({"fi", "done", "esac"})
_WORD: Final = re.compile(r"[^\s;&|()]+")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, its lines, and the line of its opening fence in the body."""

    language: str
    lines: tuple[str, ...]
    line: int


def blocks(body: str) -> Iterator[Block]:
    """The fenced blocks of a Markdown text, at any indentation; an unclosed one runs to the end."""
    opening: re.Match[str] | None = None
    opened_at = 0
    kept: list[str] = []
    for number, row in enumerate(body.split("\n"), start=1):
        if opening is None:
            opening, opened_at, kept = _FENCE.match(row), number, []
        elif _closes(row, opening["ticks"]):
            yield Block(_language(opening["info"]), tuple(kept), opened_at)
            opening = None
        else:
            kept.append(row.removeprefix(opening["indent"]))
    if opening is not None:
        yield Block(_language(opening["info"]), tuple(kept), opened_at)


def _closes(row: str, ticks: str) -> bool:
    bare = row.strip()
    return len(bare) >= len(ticks) and not bare.strip(ticks[0])


def _language(info: str) -> str:
    words = info.strip().strip("{}").lstrip(".").split()
    return words[0].lower() if words else ""


def documented_commands(body: str) -> tuple[str, ...]:
    """Commands in order of appearance: prompts stripped, output and comments left out.

    A command that goes on over several lines (a backslash, a loop, a here-document) is one.
    """
    found = (
        command
        for block in blocks(body)
        if block.language in _SHELLS
        for command in _commands_of(block)
        if len(command) <= MAX_COMMAND
    )
    return tuple(fitting(islice(found, MAX_COMMANDS), MAX_BYTES))


def _commands_of(block: Block) -> Iterator[str]:
    prompted = any(_PROMPT.match(row) for row in block.lines)
    open_rows: list[str] = []
    shell = _Shell()
    for row in block.lines:
        text = row.rstrip()
        if not open_rows:
            if prompted and not _PROMPT.match(text):
                continue
            text = _PROMPT.sub("", text)
            if not text.strip() or text.lstrip().startswith("#"):
                continue
        elif prompted:
            text = text.removeprefix("> ")
        open_rows.append(text)
        if shell.is_complete_after(text):
            yield "\n".join(open_rows).strip()
            open_rows, shell = [], _Shell()
    if open_rows:
        yield "\n".join(open_rows).strip()


class _Shell:
    """Follows a command row by row, each character once, to tell where it ends."""

    def __init__(self) -> None:
        self._quote = ""
        self._heredoc: str | None = None
        self._depth = 0
        self._opened = False
        self._is_compound = False

    def is_complete_after(self, row: str) -> bool:
        if self._heredoc is not None:
            return row.strip() == self._heredoc
        first = not self._opened
        code = self._outside_quotes(row)
        words = _WORD.findall(code)
        if first:
            self._opened = True
            self._is_compound = bool(words) and words[0] in _OPENERS
        if heredoc := _HEREDOC.search(row):
            self._heredoc = heredoc[2]
            return False
        if self._is_compound:
            self._depth += sum(word in _OPENERS for word in words)
            self._depth -= sum(word in _CLOSERS for word in words)
        going_on = code.endswith(("\\", "|", "&&"))
        return not self._quote and not going_on and self._depth <= 0

    def _outside_quotes(self, row: str) -> str:
        kept: list[str] = []
        escaped = False
        for at, c in enumerate(row):
            if escaped:
                escaped = False
            elif c == "\\" and self._quote != "'":
                escaped = True
            elif self._quote:
                if c == self._quote:
                    self._quote = ""
                continue
            elif c in "'\"":
                self._quote = c
                continue
            elif c == "#" and (at == 0 or row[at - 1].isspace()):
                break
            if not self._quote:
                kept.append(c)
        return "".join(kept).rstrip()
