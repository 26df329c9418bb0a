"""Which of a skill's own programs an agent ran, read from its commands. Pure."""

import json
import posixpath
import re
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from typing import Final

from assay_contracts.runs import TraceStep
from assay_sandbox_runner.domain.attribution import RanProgram
from assay_skillkit.shell.paths import PathUse, paths_used

_INTERPRETERS: Final = re.compile(
    r"python[\d.]*|node|deno|bun|tsx|ts-node|bash|sh|zsh|dash|ksh|ruby|perl|php|Rscript|uv|uvx|npx"
    r"|source|\."
)
_CODE: Final = frozenset(
    {".py", ".js", ".mjs", ".cjs", ".ts", ".sh", ".bash", ".rb", ".pl", ".php", ".r", ".R"}
)


def programs_ran(
    steps: Sequence[TraceStep], *, skill: str, files: Collection[str], root: str, folder: str
) -> tuple[RanProgram, ...]:
    """Every run of one of the skill's programs, in order.

    A program is what a command runs by its path or hands to an interpreter first. One that the
    skill should have and does not counts too: the command that names it fails for that.

    Args:
        steps: The task's tool calls.
        skill: The skill's folder name.
        files: Its files, relative to its folder.
        root: Folder that holds the skills' folders.
        folder: Where commands ran.
    """
    home = posixpath.join(root, skill)
    return tuple(
        RanProgram(
            path=path,
            program=posixpath.relpath(path, home),
            command=command,
            step=index,
            exit_code=step.exit_code,
            decides=use.decides,
            output=step.output,
        )
        for index, step in enumerate(steps)
        if step.tool == "execute"
        for command in (command_of(step),)
        for use in _programs(command, folder)
        for path in (use.path,)
        if _is_own(path, home, files)
    )


def _programs(command: str, folder: str) -> Iterator[PathUse]:
    """What each simple command of the line runs, where that is a file."""
    for _, uses in groupby(paths_used(command, folder), key=lambda use: use.command):
        given = list(uses)
        run = next((use for use in given if use.is_program), None)
        if run is not None and not _INTERPRETERS.fullmatch(run.program):
            yield run
        elif _INTERPRETERS.fullmatch(given[0].program):
            code = (use for use in given if not use.is_program and _is_code(use.path))
            yield from list(code)[:1]


def _is_code(path: str) -> bool:
    return posixpath.splitext(path)[1] in _CODE


def _is_own(path: str, home: str, files: Collection[str]) -> bool:
    if not path.startswith(f"{home}/"):
        return False
    return posixpath.relpath(path, home) in files or _is_code(path)


def command_of(step: TraceStep) -> str:
    """The shell command of a step that ran one; else empty."""
    try:
        arguments = json.loads(step.arguments)
    except ValueError:
        return ""
    command = arguments.get("command") if isinstance(arguments, dict) else None
    return command if isinstance(command, str) else ""
