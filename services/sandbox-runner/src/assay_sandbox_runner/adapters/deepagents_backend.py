"""deepagents' backend on our sandbox port: every call awaits, none takes a thread."""

import math
import shlex
from collections.abc import Awaitable
from typing import Final, NoReturn, TypeVar

from deepagents.backends.protocol import (
    DeleteResult,
    ExecuteOffloadResult,
    ExecuteResponse,
    FileDownloadResponse,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    ReadResult,
    WriteResult,
)
from deepagents.backends.sandbox import BaseSandbox
from deepagents.backends.utils import create_file_data, slice_read_response
from typing_extensions import override

from assay_contracts.obstacles import LimitKind
from assay_sandbox_runner.adapters.document_reader import read_documents
from assay_sandbox_runner.adapters.shared_installations import SharedInstallations
from assay_sandbox_runner.domain.install_commands import changes_packages
from assay_sandbox_runner.domain.produced_files import MOST_BYTES
from assay_sandbox_runner.domain.text import clip
from assay_sandbox_runner.domain.timing import Stopwatch
from assay_sandboxes.port import ExecResult, FileError, Sandbox, SandboxUnavailable

SHOWN_CHARS: Final = 30_000
"""Of a command's output, shown to the agent. More would make deepagents write it to a file."""
OUTPUT_BYTES: Final = 640 * 1024
"""What a sandbox must let one command print: deepagents' own scripts print up to 500 KiB."""
_SCRIPT: Final = "python3 -c "
_BINARY_TOO_LARGE: Final = "exceeds maximum preview size"
"""What deepagents says of a binary file that is too large for its own way of reading."""

T = TypeVar("T")


class SandboxBackend(BaseSandbox):
    """One task's view of a sandbox: commands run in the task's folder.

    deepagents turns some exceptions into words for the model, so a lost sandbox is also kept in
    `lost` for whoever runs the agent.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        *,
        folder: str,
        stopwatch: Stopwatch,
        installations: SharedInstallations,
    ) -> None:
        self._sandbox = sandbox
        self._folder = folder
        self._stopwatch = stopwatch
        self._installations = installations
        self.lost: SandboxUnavailable | None = None
        self.limits_hit: tuple[LimitKind, ...] = ()
        """Limits that the agent's last command ran into."""
        self.created: set[str] = set()
        """Paths that the agent wrote last where there had been nothing."""

    @property
    @override
    def id(self) -> str:
        return self._sandbox.id

    # -- commands -------------------------------------------------------------------------------

    @override
    async def aexecute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """Run a command whose whole output is wanted: deepagents' own scripts come this way."""
        result = await self._run(_isolated(command), timeout)
        return ExecuteResponse(
            output=result.output, exit_code=result.exit_code, truncated=result.truncated
        )

    @override
    async def aexecute_with_offload(
        self,
        command: str,
        capture_path: str,
        *,
        max_inline_bytes: int,
        max_capture_bytes: int | None = None,
        timeout: int | None = None,
    ) -> ExecuteOffloadResult:
        """Run a command of the agent's own: its `execute` tool comes this way."""
        # Whoever installs something has all the time that there is for it.
        longest = math.inf if changes_packages(command) else None
        result = await self._installations(command, lambda: self._run(command, timeout or longest))
        self.limits_hit = result.limits_hit
        output = result.output
        if result.timed_out:
            output += f"\n[killed: it had not ended after {result.seconds:.0f} s]"
        shown = clip(output, SHOWN_CHARS)
        response = ExecuteResponse(
            output=shown.text,
            exit_code=result.exit_code,
            truncated=result.truncated or shown.truncated,
        )
        return ExecuteOffloadResult(offloaded=False, response=response)

    async def _run(self, command: str, timeout_s: float | None) -> ExecResult:
        with self._stopwatch.running():
            return await self._remembering_loss(
                # Zero is deepagents' word for no limit of its own.
                self._sandbox.execute(command, timeout_s=timeout_s or None, cwd=self._folder)
            )

    # -- files ----------------------------------------------------------------------------------

    @override
    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """A window of the file as text, always: documents by what they say, images in words."""
        read = await super().aread(file_path, offset, limit)
        if read.file_data is not None:
            is_binary = read.file_data.get("encoding") == "base64"
        else:
            is_binary = _BINARY_TOO_LARGE in (read.error or "")
        if not is_binary:
            return read
        return slice_read_response(
            create_file_data(await self._described(file_path)), offset, limit
        )

    async def _described(self, path: str) -> str:
        quoted = shlex.quote(path)
        size = int((await self._run(f"stat -L -c %s {quoted}", None)).stdout or 0)
        if size > MOST_BYTES:
            return f"[a binary file of {size} bytes: too large to be read here]"
        (content,) = await self._remembering_loss(self._sandbox.download([path]))
        if isinstance(content, FileError):
            return f"[a binary file of {size} bytes that cannot be read: {content.problem}]"
        document = (await read_documents({path: content}))[path]
        head = f"[{document.kind}: {document.note}, {size} bytes"
        if not document.text:
            return f"{head}; there is no text to show]"
        return f"{head}; its text:]\n{clip(document.text, SHOWN_CHARS).text}"

    @override
    async def awrite(self, file_path: str, content: str) -> WriteResult:
        existed = (await self._run(f"test -e {shlex.quote(file_path)}", None)).exit_code == 0
        result = await super().awrite(file_path, content)
        if existed or result.error is not None:
            self.created.discard(file_path)
        else:
            self.created.add(file_path)
        return result

    @override
    async def aupload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        answers = await self._remembering_loss(self._sandbox.upload(files))
        return [
            FileUploadResponse(path=path, error=answer.problem if answer else None)
            for (path, _), answer in zip(files, answers, strict=True)
        ]

    @override
    async def adownload_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        answers = await self._remembering_loss(self._sandbox.download(paths))
        return [
            FileDownloadResponse(path=path, error=answer.problem)
            if isinstance(answer, FileError)
            else FileDownloadResponse(path=path, content=answer)
            for path, answer in zip(paths, answers, strict=True)
        ]

    @override
    async def adelete(self, file_path: str) -> DeleteResult:
        path = shlex.quote(file_path)
        result = await self._run(f"{{ test -e {path} || test -L {path}; }} && rm -rf {path}", None)
        if result.exit_code == 0:
            return DeleteResult(path=file_path)
        return DeleteResult(error=result.output.strip() or f"Error: '{file_path}' not found")

    @override
    async def aglob(self, pattern: str, path: str | None = None) -> GlobResult:
        return await super().aglob(pattern, path or self._folder)

    @override
    async def agrep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        return await super().agrep(pattern, path or self._folder, glob, max_count=max_count)

    async def _remembering_loss(self, call: Awaitable[T]) -> T:
        try:
            return await call
        except SandboxUnavailable as error:
            self.lost = error
            raise

    # -- the blocking half of the protocol, which async agents never call -----------------------

    @override
    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        _no_blocking()

    @override
    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        _no_blocking()

    @override
    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        _no_blocking()


def _isolated(script: str) -> str:
    """The script out of reach of modules that lie in its folder: it needs none but Python's own.

    It also starts in half the time.
    """
    if script.startswith(_SCRIPT):
        return f"python3 -I -S -c {script.removeprefix(_SCRIPT)}"
    return script


def _no_blocking() -> NoReturn:
    raise RuntimeError("This backend is asynchronous: run the agent with `ainvoke` or `astream`.")
