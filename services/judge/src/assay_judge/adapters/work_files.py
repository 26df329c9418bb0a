"""A planner's own folder: files in memory here, commands in a sandbox elsewhere."""

import posixpath
from collections.abc import Mapping
from typing import Final

from deepagents import FsToolName
from deepagents.backends.protocol import (
    EditResult,
    ExecuteResponse,
    GlobResult,
    GrepResult,
    LsResult,
    ReadResult,
    SandboxBackendProtocol,
    WriteResult,
)
from deepagents.backends.utils import perform_string_replacement
from typing_extensions import override

from assay_contracts.tasks import TaskFile
from assay_contracts.workbench import (
    COMMAND_SECONDS,
    WORKBENCH_BYTES,
    WORKBENCH_FILES,
    WORKBENCH_FOLDER,
)
from assay_judge.adapters.assignments import current_assignment
from assay_judge.adapters.files import ReadOnlyFiles
from assay_judge.ports import Workbench

WORK_TOOLS: Final[tuple[FsToolName, ...]] = (
    "ls",
    "read_file",
    "write_file",
    "edit_file",
    "glob",
    "grep",
    "execute",
)
MOST_COMMANDS: Final = 20
"""In one assignment."""
EXECUTE_DESCRIPTION: Final = f"""Runs a shell command in a throwaway sandbox without a network, in the folder {WORKBENCH_FOLDER}.

- Each command gets a fresh sandbox with the files that are in {WORKBENCH_FOLDER} now; what it makes or changes there is kept for the next one. Nothing else is kept: no packages, no processes, no files elsewhere. The skill is not in it.
- `python3` is there with openpyxl, python-docx, python-pptx, pypdf, reportlab and Pillow, beside the usual shell tools. Nothing can be installed.
- {WORKBENCH_FOLDER} may hold {WORKBENCH_BYTES // 1024} KiB in at most {WORKBENCH_FILES} files. A command is killed after {COMMAND_SECONDS:g} s. You have {MOST_COMMANDS} commands."""  # noqa: E501  # one line for each rule, as models get it


class WorkFiles(SandboxBackendProtocol):
    """The skill's files to read, and a folder to work in."""

    def __init__(self, given: Mapping[str, str], workbench: Workbench) -> None:
        self._given = ReadOnlyFiles(given)
        self._workbench = workbench
        self._commands = 0
        self.made: dict[str, bytes] = {}
        """What is in the folder, by its path below it."""

    @property
    @override
    def id(self) -> str:
        return "workbench"

    @override
    async def aexecute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """Raises AgentFailed: no sandbox is to be had."""
        if self._commands >= MOST_COMMANDS:
            return _refused(f"{MOST_COMMANDS} commands have been run; there are no more.")
        if (size := sum(map(len, self.made.values()))) > WORKBENCH_BYTES:
            return _refused(
                f"{WORKBENCH_FOLDER} holds {size} bytes; at most {WORKBENCH_BYTES} are allowed."
            )
        if len(self.made) > WORKBENCH_FILES:
            return _refused(
                f"{WORKBENCH_FOLDER} holds {len(self.made)} files; at most {WORKBENCH_FILES}."
            )
        self._commands += 1
        files = [TaskFile.of(path, data) for path, data in sorted(self.made.items())]
        ran = await self._workbench.run(
            command, files, seconds=min(timeout or COMMAND_SECONDS, COMMAND_SECONDS)
        )
        self.made.update({file.path: file.to_bytes() for file in ran.files})
        for path in ran.deleted:
            self.made.pop(path, None)
        output = ran.output
        if ran.timed_out:
            output += "\n[killed: it had not ended in time]"
        if ran.left_behind:
            output += f"\n[too large to be kept: {', '.join(ran.left_behind[:20])}]"
        return ExecuteResponse(output=output, exit_code=ran.exit_code, truncated=ran.truncated)

    @override
    async def als(self, path: str) -> LsResult:
        return self._readable().ls(path)

    @override
    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        return self._readable().read(file_path, offset, limit)

    @override
    async def aglob(self, pattern: str, path: str | None = None) -> GlobResult:
        return self._readable().glob(pattern, path)

    @override
    async def agrep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        return self._readable().grep(pattern, path, glob, max_count=max_count)

    @override
    async def awrite(self, file_path: str, content: str) -> WriteResult:
        place = _below_folder(file_path)
        if place is None:
            return WriteResult(error=f"Files can be written below {WORKBENCH_FOLDER}/ only.")
        self.made[place] = content.encode()
        return WriteResult(path=file_path)

    @override
    async def aedit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> EditResult:
        place = _below_folder(file_path)
        if place is None or place not in self.made:
            return EditResult(error=f"File '{file_path}' is not below {WORKBENCH_FOLDER}/")
        text = self.made[place].decode("utf-8", errors="replace")
        replaced = perform_string_replacement(text, old_string, new_string, replace_all)
        if isinstance(replaced, str):
            return EditResult(error=replaced)
        content, count = replaced
        self.made[place] = content.encode()
        return EditResult(path=file_path, occurrences=count)

    def _readable(self) -> ReadOnlyFiles:
        shown = {f"{WORKBENCH_FOLDER}/{path}": _as_text(data) for path, data in self.made.items()}
        return self._given.with_files(shown)


class AssignedFiles(SandboxBackendProtocol):
    """The files of whichever assignment asks: one backend for a graph that serves them all."""

    @property
    @override
    def id(self) -> str:
        return "assigned"

    @override
    async def aexecute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        files = current_assignment().files
        if not isinstance(files, SandboxBackendProtocol):
            return _refused("There is no sandbox here.")
        return await files.aexecute(command, timeout=timeout)

    @override
    async def als(self, path: str) -> LsResult:
        return await current_assignment().files.als(path)

    @override
    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        return await current_assignment().files.aread(file_path, offset, limit)

    @override
    async def aglob(self, pattern: str, path: str | None = None) -> GlobResult:
        return await current_assignment().files.aglob(pattern, path)

    @override
    async def agrep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        files = current_assignment().files
        return await files.agrep(pattern, path, glob, max_count=max_count)

    @override
    async def awrite(self, file_path: str, content: str) -> WriteResult:
        return await current_assignment().files.awrite(file_path, content)

    @override
    async def aedit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> EditResult:
        files = current_assignment().files
        return await files.aedit(file_path, old_string, new_string, replace_all)


def _below_folder(path: str) -> str | None:
    clean = posixpath.normpath(posixpath.join(WORKBENCH_FOLDER, path))
    return (
        clean.removeprefix(f"{WORKBENCH_FOLDER}/")
        if clean.startswith(f"{WORKBENCH_FOLDER}/")
        else None
    )


def _as_text(data: bytes) -> str:
    file = TaskFile.of("", data)
    if file.encoding == "text":
        return file.content
    return f"[{len(data)} bytes that are no text; look at them with `execute`]"


def _refused(why: str) -> ExecuteResponse:
    return ExecuteResponse(output=f"Not run: {why}", exit_code=126, truncated=False)
