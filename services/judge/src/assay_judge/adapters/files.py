"""A skill's files as deepagents' tools see them: in memory, and for reading only."""

from collections.abc import Mapping
from typing import Final

from deepagents import FsToolName
from deepagents.backends.protocol import (
    BackendProtocol,
    EditResult,
    FileData,
    FileInfo,
    GlobResult,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)
from deepagents.backends.utils import (
    InvalidGlobPatternError,
    compile_grep_include_glob,
    create_file_data,
    grep_matches_from_files,
    slice_read_response,
)
from typing_extensions import override

READ_TOOLS: Final[tuple[FsToolName, ...]] = ("ls", "read_file", "glob", "grep")
_REFUSED: Final = "These files are for reading only."


class ReadOnlyFiles(BackendProtocol):
    """Serves texts under absolute paths; refuses every change."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files: dict[str, FileData] = {
            path: create_file_data(text) for path, text in sorted(files.items())
        }

    def with_files(self, files: Mapping[str, str]) -> "ReadOnlyFiles":
        """These and those beside them."""
        both = ReadOnlyFiles(files)
        both._files |= self._files
        return both

    @override
    def ls(self, path: str) -> LsResult:
        folder = path.rstrip("/") + "/"
        below = [name.removeprefix(folder) for name in self._files if name.startswith(folder)]
        entries: dict[str, FileInfo] = {}
        for relative in below:
            first, slash, _ = relative.partition("/")
            entries[first] = FileInfo(path=f"{folder}{first}{slash}", is_dir=bool(slash))
        return LsResult(entries=list(entries.values()))

    @override
    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        file = self._files.get(file_path)
        if file is None:
            return ReadResult(error=f"File '{file_path}' not found")
        return slice_read_response(file, offset, limit)

    @override
    def grep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        return grep_matches_from_files(self._files, pattern, path, glob, max_count=max_count)

    @override
    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        folder = (path or "/").rstrip("/") + "/"
        try:
            matches = compile_grep_include_glob(pattern)
        except InvalidGlobPatternError as error:
            return GlobResult(error=str(error))
        return GlobResult(
            matches=[
                FileInfo(path=name, is_dir=False)
                for name in self._files
                if name.startswith(folder) and matches(name.removeprefix(folder))
            ]
        )

    @override
    def write(self, file_path: str, content: str) -> WriteResult:
        return WriteResult(error=_REFUSED)

    @override
    def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,
    ) -> EditResult:
        return EditResult(error=_REFUSED)

    # Everything is in memory: the default's hop to a thread would only cost time.

    @override
    async def als(self, path: str) -> LsResult:
        return self.ls(path)

    @override
    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        return self.read(file_path, offset, limit)

    @override
    async def aglob(self, pattern: str, path: str | None = None) -> GlobResult:
        return self.glob(pattern, path)

    @override
    async def agrep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        return self.grep(pattern, path, glob, max_count=max_count)

    @override
    async def awrite(self, file_path: str, content: str) -> WriteResult:
        return self.write(file_path, content)

    @override
    async def aedit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> EditResult:
        return self.edit(file_path, old_string, new_string, replace_all)
