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

_MANUAL: Final = "SKILL.md"
_NOT_FOUND: Final = 127
"""What a shell says of a program that is not there."""


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


def missing_files_read(
    steps: Sequence[TraceStep],
    *,
    skill: str,
    files: Collection[str],
    manual: str,
    root: str,
    folder: str,
) -> tuple[RanProgram, ...]:
    """Every attempt to read a file that the SKILL.md names and that the skill does not have.

    It is as good as a program that does not run: what the skill promises there is not to be had.
    None where the agent could read another file that the SKILL.md names. Arguments are those of
    `programs_ran`, and the text of the SKILL.md.
    """
    home = posixpath.join(root, skill)
    read = [
        (index, step, posixpath.relpath(path, home))
        for index, step in enumerate(steps)
        for path in _paths_read(step, folder)
        if path.startswith(f"{home}/")
    ]
    named = [
        each for each in read if each[2] != _MANUAL and each[2] in manual and not _is_code(each[2])
    ]
    if any(file in files for _, _, file in named):
        return ()
    return tuple(
        RanProgram(
            path=posixpath.join(home, file),
            program=file,
            command=command_of(step) or f"{step.tool} {file}",
            step=index,
            exit_code=_NOT_FOUND,
            decides=True,
            output=f"{file} is not in the bundle",
        )
        for index, step, file in named
        if not any(other.startswith(f"{file}/") for other in files)
    )


def _paths_read(step: TraceStep, folder: str) -> Iterator[str]:
    if step.tool == "execute":
        yield from (use.path for use in paths_used(command_of(step), folder) if not use.is_program)
    elif step.tool == "read_file":
        yield posixpath.normpath(posixpath.join("/", _argument(step, "file_path")))


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
    return _argument(step, "command")


def _argument(step: TraceStep, name: str) -> str:
    try:
        arguments = json.loads(step.arguments)
    except ValueError:
        return ""
    value = arguments.get(name) if isinstance(arguments, dict) else None
    return value if isinstance(value, str) else ""
