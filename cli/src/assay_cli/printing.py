"""What commands print: tables and sentences for people, JSON for programs."""

import json
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Final, NoReturn

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from assay_reporting.text import escaped_json

COLUMNS_ON_PAPER: Final = 100
"""Width of prose where no terminal has one."""
UNBOUNDED: Final = 10_000
"""A table in a file or a pipe is not cut to any width."""


class _Console(Console):
    def on_broken_pipe(self) -> NoReturn:
        # Rich would exit with 1, which says of a skill that it failed.
        raise BrokenPipeError


def console(*, stderr: bool = False, width: int | None = None) -> Console:
    """Where commands print tables and colours. Raises BrokenPipeError when nobody reads it."""
    return _Console(stderr=stderr, width=width)


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def say_json(document: object, *, indent: int | None = None) -> None:
    """For programs, and harmless on a terminal all the same."""
    say(escaped_json(json.dumps(document, indent=indent, ensure_ascii=False)))


def say_document(content: bytes) -> None:
    """The same JSON, indented for people who read it all the same."""
    say_json(json.loads(content), indent=2)


def show(what: RenderableType) -> None:
    """Print prose, as wide as the terminal."""
    screen = console()
    (screen if screen.is_terminal else console(width=COLUMNS_ON_PAPER)).print(what)


def show_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under headings; whatever came from outside is text, never markup."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    screen = console()
    if screen.is_terminal:
        screen.print(table)
        return
    paper = console(width=UNBOUNDED)
    with paper.capture() as captured:
        paper.print(table)
    for line in captured.get().splitlines():
        say(line.rstrip())


def show_fields(fields: Sequence[tuple[str, str]]) -> None:
    """Print a list of names and values."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for name, value in fields:
        table.add_row(name, Text(value))
    show(table)


def moment(at: datetime | None) -> str:
    """To the minute, in the reader's time."""
    return "–" if at is None else f"{at.astimezone():%Y-%m-%d %H:%M}"


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"
