"""Of which files a trace keeps the contents, in which order, and what is cut. Pure.

A trace keeps 64 kB of text a task. The files that a check names come first, then those that the
prompt names, then whatever else was made, and last what was given and left as it was. Where one is
too long, its head, its tail and the passages that a check names are kept.
"""

import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from assay_contracts.tasks import Check, CommandCheck, PatternCheck, ProgramCheck, Task
from assay_sandbox_runner.domain.text import Clipped

MOST_FILES: Final = 50
MOST_BYTES: Final = 20 * 1024**2
"""Read of all files of a task together."""
MOST_CHARS: Final = 64 * 1024
"""Kept of all texts of a task together."""
MOST_PICTURES: Final = 3
LARGEST_PICTURE: Final = 512 * 1024
"""Bytes of an image that is kept whole."""

Span = tuple[int, int]
"""Start and end of a passage."""

_MARK_CHARS: Final = 48
"""Room for a mark, whatever number it holds."""
_SURROUNDINGS: Final = (400, 80, 0)
"""Characters kept on either side of a passage: as many of these as there is room for."""
_SHORTEST_WORD: Final = 4
_INSTALLED: Final = re.compile(
    r"(?:^|/)(?:node_modules|site-packages|[^/]*\.dist-info|\.venv|venv|\.git|\.cache)/"
)


class Rank(IntEnum):
    """How much depends on a file; the lower, the more."""

    CHECKED = 0
    ASKED_FOR = 1
    MADE = 2
    GIVEN = 3
    INSTALLED = 4


@dataclass(frozen=True, slots=True)
class FileToKeep:
    path: str
    size: int
    rank: Rank
    is_read: bool
    """Otherwise it is too large to be read with the others."""


def files_to_keep(
    sizes: Mapping[str, int], made: Collection[str], task: Task
) -> tuple[FileToKeep, ...]:
    """The files that a trace tells of, the most important first.

    Args:
        sizes: Every file below the task's folder after the work, with its bytes.
        made: Those that are new or changed.
        task: Whose checks and prompt may name files.
    """
    changed = frozenset(made)
    ranked = sorted(
        (rank, path.count("/"), path)
        for path in sizes
        if (rank := _rank(path, task, is_made=path in changed)) is not None
    )
    kept, room = [], MOST_BYTES
    for rank, _, path in ranked[:MOST_FILES]:
        is_read = sizes[path] <= room
        room -= sizes[path] if is_read else 0
        kept.append(FileToKeep(path, sizes[path], rank, is_read))
    return tuple(kept)


def _rank(path: str, task: Task, *, is_made: bool) -> Rank | None:
    if any(names_file(check, path) for check in task.checks):
        return Rank.CHECKED
    is_asked_for = _is_word_of(path, task.prompt)
    if not is_made:
        return Rank.GIVEN if is_asked_for else None
    if is_installed(path):
        return Rank.INSTALLED
    return Rank.ASKED_FOR if is_asked_for else Rank.MADE


def asked_for(task: Task, made: Collection[str]) -> tuple[str, ...]:
    """Those of the files made that the task's checks or its prompt name."""
    ranks = {path: _rank(path, task, is_made=True) for path in made}
    return tuple(path for path, rank in ranks.items() if rank in (Rank.CHECKED, Rank.ASKED_FOR))


def is_installed(path: str) -> bool:
    """Whether the file belongs to something that was installed into the task's folder."""
    return _INSTALLED.search(path) is not None


def names_file(check: Check, path: str) -> bool:
    """Whether the check is about the file."""
    if isinstance(check, CommandCheck | ProgramCheck):
        return _is_word_of(path, _code(check))
    return check.path is not None and check.path.removeprefix("./") == path


def _is_word_of(path: str, text: str) -> bool:
    return path in text and bool(re.search(rf"(?<![\w/-]){re.escape(path)}(?![\w-])", text))


def checked_paths(checks: Iterable[Check]) -> tuple[str, ...]:
    """The paths that checks give as such."""
    paths = (
        None if isinstance(check, CommandCheck | ProgramCheck) else check.path for check in checks
    )
    return tuple(dict.fromkeys(path for path in paths if path))


def patterns_for(path: str, checks: Iterable[Check]) -> tuple[str, ...]:
    """The patterns that checks look for in the file."""
    return tuple(
        check.pattern
        for check in checks
        if isinstance(check, PatternCheck) and names_file(check, path)
    )


def quoted_passages(path: str, text: str, checks: Iterable[Check]) -> tuple[Span, ...]:
    """Where the words stand that commands of checks look for in the file, as far as they are."""
    found = (
        (at, at + len(word))
        for check in checks
        if isinstance(check, CommandCheck | ProgramCheck) and names_file(check, path)
        for word in _words(_code(check))
        if len(word) >= _SHORTEST_WORD and (at := text.find(word)) >= 0
    )
    return tuple(sorted(set(found)))


def _code(check: CommandCheck | ProgramCheck) -> str:
    return check.command if isinstance(check, CommandCheck) else check.source


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def shares(lengths: Sequence[tuple[Rank, int]], room: int = MOST_CHARS) -> tuple[int, ...]:
    """How many characters each text may keep: rank by rank, within one evenly.

    A text that needs less than an even share leaves the rest to the others of its rank.
    """
    given = [0] * len(lengths)
    for rank in sorted({rank for rank, _ in lengths}):
        alike = [index for index, (other, _) in enumerate(lengths) if other == rank]
        alike.sort(key=lambda index: lengths[index][1])
        for place, index in enumerate(alike):
            given[index] = min(lengths[index][1], room // (len(alike) - place))
            room -= given[index]
    return tuple(given)


def excerpt(text: str, limit: int, passages: Sequence[Span] = ()) -> Clipped:
    """At most `limit` characters: head, tail and these passages, with marks of what is missing.

    A limit with no room for marks keeps the head alone.
    """
    if len(text) <= limit:
        return Clipped(text, truncated=False)
    if limit < 2 * _MARK_CHARS:
        return Clipped(text[:limit], truncated=True)
    kept = _passages_that_fit(len(text), limit, passages)
    room = limit - _length(kept) - _MARK_CHARS * (len(kept) + 1)
    half = max(0, room) // 2
    kept = _merged([(0, half), *kept, (len(text) - half, len(text))])
    parts, behind = [], 0
    for start, end in kept:
        parts += [_mark(start - behind), text[start:end]]
        behind = end
    return Clipped("".join((*parts, _mark(len(text) - behind))), truncated=True)


def _passages_that_fit(length: int, limit: int, passages: Sequence[Span]) -> list[Span]:
    fitting = list(passages)
    while fitting:
        for around in _SURROUNDINGS:
            wide = [(max(0, start - around), min(length, end + around)) for start, end in fitting]
            kept = _merged(wide)
            if _length(kept) + _MARK_CHARS * (len(kept) + 1) <= limit:
                return kept
        fitting.pop()
    return []


def _merged(spans: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _length(spans: Iterable[Span]) -> int:
    return sum(end - start for start, end in spans)


def _mark(missing: int) -> str:
    return f"\n[... {missing} characters left out ...]\n" if missing else ""
