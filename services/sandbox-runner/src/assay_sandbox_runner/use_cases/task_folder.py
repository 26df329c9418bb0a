"""The folder of one task in the sandbox that an agent works in: made, listed, copied."""

import posixpath
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from assay_contracts.tasks import Task
from assay_sandbox_runner.domain.result_files import ResultFiles, files_to_copy
from assay_sandboxes.port import FileError, Sandbox, SandboxUnavailable

# `command -p` passes by whatever an agent put on `PATH`.
_LIST_FILES: Final = (
    "command -p find . -type f -not -path '*/__pycache__/*' -printf '%s %T@:%m %P\\0' "
    "| command -p head -c 100000"
)
_PRINT_NAMED: Final = "-printf '%s %T@:%m %p\\0'"
_LISTED: Final = re.compile(r"(\d+) ([^\s:]+)(?::(\d+))? (.+)", re.DOTALL)
_EXECUTABLE: Final = 0o111


@dataclass(frozen=True, slots=True)
class ListedFile:
    size: int
    """Bytes."""
    changed: str
    """When it was, in whatever form the sandbox says it."""
    is_program: bool

    @property
    def stamp(self) -> str:
        """Changes with the file's content."""
        return f"{self.size} {self.changed}"


async def make_task_folder(sandbox: Sandbox, folder: str, task: Task) -> None:
    """Make the task's folder and put its input files there.

    Raises:
        SandboxUnavailable: that cannot be done.
    """
    made = await sandbox.execute(f"mkdir -p {folder}")
    if made.exit_code != 0:
        raise SandboxUnavailable(f"The task's folder could not be made: {made.output[:500]}")
    answers = await sandbox.upload(
        [(posixpath.join(folder, file.path), file.to_bytes()) for file in task.files]
    )
    for answer in answers:
        if answer is not None:
            raise SandboxUnavailable(
                f"Input file {answer.path} could not be put into the sandbox: {answer.problem}"
            )


async def list_files(sandbox: Sandbox, folder: str, named: Sequence[str]) -> dict[str, ListedFile]:
    """Each file below the folder, the first of very many.

    Those in `named` are there however many there are.
    """
    command = _LIST_FILES
    if named:
        paths = " ".join(shlex.quote(f"./{path}") for path in named)
        command = (
            f"command -p find -L {paths} -maxdepth 0 -type f {_PRINT_NAMED} 2>/dev/null; {command}"
        )
    listed = (await sandbox.execute(command, cwd=folder)).stdout
    entries = map(_LISTED.fullmatch, listed.split("\0"))
    return {
        posixpath.normpath(entry[4]): ListedFile(
            int(entry[1]), entry[2], is_program=bool(int(entry[3] or "0", 8) & _EXECUTABLE)
        )
        for entry in entries
        if entry
    }


async def copy_results(
    sandbox: Sandbox, folder: str, files: Mapping[str, ListedFile], named: Sequence[str]
) -> ResultFiles:
    """What checks get to see of these files; those that cannot be read are left out.

    Raises:
        SandboxUnavailable: the sandbox was lost.
    """
    wanted = files_to_copy({path: file.size for path, file in files.items()}, named)
    read = await sandbox.download([posixpath.join(folder, path) for path in wanted])
    contents = {
        path: content
        for path, content in zip(wanted, read, strict=True)
        if not isinstance(content, FileError)
    }
    return ResultFiles(
        contents=contents,
        programs=frozenset(path for path in contents if files[path].is_program),
        left_out=frozenset(files) - frozenset(contents),
    )
