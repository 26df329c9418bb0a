"""Where a step's output repeats, word for word, a skill's file that the step read. Pure.

Graders are not shown these passages: what a skill says of itself is no work done. What programs
print is left alone, so only files that a command reads are looked for, and only in its own output.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final

from assay_contracts.runs import TraceStep
from assay_skillkit.shell.paths import PathUse, paths_used

SkillFile = tuple[str, str]
"""A skill's folder name, and one of its files relative to it."""

_READERS: Final = frozenset(
    {"cat", "head", "tail", "less", "more", "bat", "sed", "awk", "nl", "cut", "sort", "uniq"}
    | {"grep", "rg", "egrep", "fgrep", "diff", "tee", "strings", "pandoc", "tac", "fold", "xargs"}
)
_NUMBERED: Final = re.compile(r"^(?:[^\s:]+:)?\s*\d*[:\t|]?\s*")
"""What `nl`, `cat -n` and `grep -n` put before a line."""
_LEAST_CHARS: Final = 20
"""Shorter passages are alike by chance."""


def skill_files_read(
    step: TraceStep, skills: Mapping[str, Collection[str]], *, root: str, folder: str
) -> frozenset[SkillFile]:
    """The files of skills that a command, or the tool that searches files, may have shown.

    Args:
        step: Any tool call.
        skills: For each skill's folder name, its files relative to that folder.
        root: Folder that holds the skills' folders.
        folder: Where commands run.
    """
    try:
        arguments = json.loads(step.arguments)
    except ValueError:
        return frozenset()
    if step.tool == "grep":
        patterns = [str(arguments.get("path") or folder)]
    elif step.tool == "execute":
        uses = paths_used(str(arguments.get("command", "")), folder)
        patterns = [use.path for use in uses if _shows_text(use)]
    else:
        return frozenset()
    return frozenset(
        (skill, file)
        for skill, files in skills.items()
        for file in files
        if any(_covers(pattern, f"{root}/{skill}/{file}") for pattern in patterns)
    )


def _shows_text(use: PathUse) -> bool:
    return not use.is_program and (use.program in _READERS or use.path.endswith(".md"))


def _covers(pattern: str, path: str) -> bool:
    return fnmatchcase(path, pattern) or path.startswith(f"{pattern.rstrip('/')}/")


def passages_of(output: str, texts: Iterable[str]) -> tuple[tuple[int, int], ...]:
    """Runs of whole lines of the output that stand in one of the texts, in order."""
    lines = frozenset(_plain(line) for text in texts for line in text.splitlines()) - {""}
    found: list[tuple[int, int]] = []
    run: list[tuple[int, int]] = []
    at = 0
    for line in output.splitlines(keepends=True):
        end = at + len(line.rstrip("\r\n"))
        if _is_among(line, lines):
            run.append((at, end))
        elif line.strip():
            found += _long_enough(run)
            run = []
        at += len(line)
    return (*found, *_long_enough(run))


def _is_among(line: str, lines: Collection[str]) -> bool:
    said = _plain(line)
    return bool(said) and (said in lines or _plain(_NUMBERED.sub("", line)) in lines)


def _long_enough(run: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    if sum(end - start for start, end in run) < _LEAST_CHARS:
        return []
    return [(run[0][0], run[-1][1])]


def _plain(line: str) -> str:
    return " ".join(line.split())
