"""A shell command cut into fragments: the one place that knows quotes, comments, here-documents.

It reads what people write in documents and what agents write in commands; it is no full grammar of
any shell. Every character is in exactly one fragment: the fragments' texts joined are the text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, cast

FragmentKind = Literal[
    "space",
    "newline",
    "operator",
    "comment",
    "bare",
    "quoted",
    "here_mark",
    "here_body",
    "unclosed",
    "placeholder",
    "optional",
]
"""`here_mark` is `<<TAG` and `here_body` the lines up to the tag; `unclosed` is everything from a
quote or a here-document on that never ends; a backslash at the end of a line is `space`."""

_FRAGMENT: Final = r"""
    (?P<space>(?:[ \t\r]|\\\n)+)
    |(?P<newline>\n)
    |(?P<comment>(?<![^\s;&|()<>])\#[^\n]*)
    |(?P<here_mark><<-?[ \t]*(?P<quote>['"]?)(?P<tag>[^\W\d]\w*)(?P=quote))
    |(?P<operator>[;&|()<>MORE]+)
    |(?P<quoted>'[^']*'|"[^"\\]*(?:\\.[^"\\]*)*")
    |(?P<unclosed>['"].*)
    |(?P<bare>(?:\\[^\n]|\\\Z|[^ \t\r\n"'\\;&|()<>MORE])+)
"""
_NOTATION: Final = r"""
    (?P<placeholder><[A-Za-z][\w .:/|-]*>)
    |(?P<optional>\[[^\[\]\s][^\[\]]*\])
    |
"""
_FLAGS: Final = re.VERBOSE | re.DOTALL
_COMMAND: Final = re.compile(_FRAGMENT.replace("MORE", ""), _FLAGS)
_DOCUMENTED: Final = re.compile(_NOTATION + _FRAGMENT.replace("MORE", r"\["), _FLAGS)
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_ESCAPE_IN_QUOTES: Final = re.compile(r'\\(["\\])')

_GOES_ON: Final = frozenset({"|", "||", "&&", "|&"})
_OPENS: Final = frozenset({"if", "for", "while", "until", "case", "select"})
_CLOSES: Final = frozenset({"fi", "done", "esac"})
_BEFORE_A_COMMAND: Final = frozenset({"if", "while", "until", "then", "do", "else", "elif", "!"})


@dataclass(frozen=True, slots=True)
class Fragment:
    kind: FragmentKind
    text: str
    """As written."""

    @property
    def value(self) -> str:
        """As a program is given it: without quotes and escapes; of a here-document its lines."""
        match self.kind:
            case "bare":
                return _ESCAPE.sub(r"\1", self.text)
            case "quoted" if self.text.startswith("'"):
                return self.text[1:-1]
            case "quoted":
                return _ESCAPE_IN_QUOTES.sub(r"\1", self.text[1:-1])
            case "here_body":
                return self.text[1:].rpartition("\n")[0]
            case _:
                return self.text


def fragments(text: str, start: int = 0, *, notation: bool = False) -> Iterator[Fragment]:
    """Cut `text` from `start` on, in time proportional to its length.

    Args:
        text: One command or many.
        start: Where to begin.
        notation: Whether `<file>` and `[--option]` are what documents mean by them, not what a
            shell does.
    """
    pattern = _DOCUMENTED if notation else _COMMAND
    tags: list[str] = []
    at = start
    while at < len(text):
        if tags and text[at] == "\n":
            fragment = _here_body(text, at, tags.pop(0))
        else:
            match = pattern.match(text, at)
            assert match is not None, "every character begins some fragment"
            fragment = Fragment(cast("FragmentKind", match.lastgroup), match[0])
            if match["tag"]:
                tags.append(match["tag"])
        at += len(fragment.text)
        yield fragment


def _here_body(text: str, at: int, tag: str) -> Fragment:
    """From the line break before the first line to the tag that ends it."""
    end = re.compile(rf"\n[ \t]*{tag}[ \t\r]*(?=\n|\Z)").search(text, at)
    return Fragment("here_body", text[at : end.end()]) if end else Fragment("unclosed", text[at:])


def command_end(text: str, start: int = 0) -> int:
    """Where the command that begins at `start` ends: at the first line break that it does not span.

    It spans one in quotes and here-documents, behind a backslash, `|` or `&&`, and in a loop.
    """
    at, depth = start, 0
    begins_command, goes_on = True, False
    for fragment in fragments(text, start):
        if fragment.kind == "newline":
            if not goes_on and depth <= 0:
                return at
            begins_command = True
        elif fragment.kind == "operator":
            goes_on = fragment.text in _GOES_ON
            begins_command = True
        elif fragment.kind not in ("space", "comment"):
            word = fragment.text if begins_command and fragment.kind == "bare" else ""
            depth += (word in _OPENS) - (word in _CLOSES)
            goes_on, begins_command = False, word in _BEFORE_A_COMMAND
        at += len(fragment.text)
    return at
