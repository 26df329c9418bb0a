"""Lists and tables of Markdown. What goes into them is Markdown already."""

from collections.abc import Collection, Iterable, Sequence


def bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Collection[str] = ()
) -> str:
    """A heading and rows; the columns named in `numbers` are aligned to the right."""
    alignment = "".join("---:|" if column in numbers else "---|" for column in columns)
    return "\n".join((_row(columns), f"|{alignment}", *map(_row, rows)))


def _row(cells: Sequence[str]) -> str:
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in cells)
