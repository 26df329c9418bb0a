"""Reading shell blocks the way a person does: which lines are commands, which are output. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

_PROMPT: Final = re.compile(r"^\s*(?:\([\w.-]+\)\s*)?(?:\$|%|❯)\s+")
_HEREDOC: Final = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?")
_OPENS: Final = re.compile(r"(?:^|[;&|]\s*|\bthen\s+|\bdo\s+)(?:for|while|until|if|case)\b")
_CLOSES: Final = re.compile(r"(?:^|[;&|]\s*|\s)(?:done|fi|esac)\b")
_TRAILING_COMMENT: Final = re.compile(r"\s+#\s.*$")


@dataclass(frozen=True, slots=True)
class ShellLine:
    """One complete command of a block."""

    command: str
    comment: str
    """The comment lines right above it, or the one behind it."""
    output: str
    """What the block shows it printing; only blocks with prompts do."""


def shell_lines(lines: Sequence[str]) -> tuple[ShellLine, ...]:
    """The commands of a fenced shell block, in order.

    Where any line has a prompt (`$ `), only those with one are commands and the rest is output.
    """
    if any(_PROMPT.match(line) for line in lines):
        return tuple(_prompted(lines))
    return tuple(_bare(lines))


def _bare(lines: Sequence[str]) -> Iterator[ShellLine]:
    comments: list[str] = []
    pending: list[str] = []
    for line in lines:
        if not pending and not line.strip():
            comments = []
        elif not pending and line.lstrip().startswith("#"):
            comments.append(line.strip().lstrip("#! ").strip())
        else:
            pending.append(line if pending else line.strip())
            if _is_complete(pending):
                yield _shell_line(pending, comments, ())
                comments, pending = [], []
    if pending:
        yield _shell_line(pending, comments, ())


def _prompted(lines: Sequence[str]) -> Iterator[ShellLine]:
    command: list[str] = []
    output: list[str] = []
    for line in lines:
        if command and not _is_complete(command):
            command.append(re.sub(r"^\s*>\s?", "", line))
        elif _PROMPT.match(line):
            if command:
                yield _shell_line(command, (), output)
            command, output = [_PROMPT.sub("", line)], []
        elif command:
            output.append(line)
    if command:
        yield _shell_line(command, (), output)


def _shell_line(lines: Sequence[str], comments: Sequence[str], output: Sequence[str]) -> ShellLine:
    text = re.sub(r"[ \t]*\\\n\s*", " ", "\n".join(lines)).strip()
    behind = _TRAILING_COMMENT.search(text) if "\n" not in text and _quotes_closed(text) else None
    comment = " ".join(comments)
    if behind:
        comment = comment or behind.group().strip().lstrip("# ")
        text = text[: behind.start()]
    return ShellLine(command=text, comment=comment, output="\n".join(output).strip("\n"))


def _is_complete(lines: Sequence[str]) -> bool:
    text = "\n".join(lines)
    if lines[-1].rstrip().endswith(("\\", "|", "&&", "||")):
        return False
    heredoc = _HEREDOC.search(text)
    if heredoc:
        return any(line.strip() == heredoc.group(1) for line in lines[1:])
    return _quotes_closed(text) and len(_OPENS.findall(text)) <= len(_CLOSES.findall(text))


def _quotes_closed(text: str) -> bool:
    quote = ""
    escaped = False
    for sign in text:
        if escaped:
            escaped = False
        elif sign == "\\" and quote != "'":
            escaped = True
        elif quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
    return not quote
