"""Sandboxes that no agent and no skill has touched: where our own code looks at results.

What a skill leaves behind in the sandbox of its run (a `python3` on `PATH`, a start-up hook, a
profile, a process) is not here. Only files are, as data, and each command finds them anew.
"""

import asyncio
import posixpath
import secrets
import shlex
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from assay_contracts.workbench import WORKBENCH_FOLDER
from assay_sandbox_runner.domain.result_files import ResultFiles
from assay_sandboxes.port import (
    SKILLS,
    WORKSPACE,
    ExecResult,
    FileError,
    Limits,
    Sandbox,
    SandboxProvider,
    SandboxUnavailable,
)

LIBRARIES: Final = f"{SKILLS}/tools"
"""Where our own Python libraries lie in a clean sandbox; there are no skills in it."""

_CLEAN_PATH: Final = 'PATH="${PATH#*:}"'
"""A sandbox's own begins with the place that things are installed into."""
_ENVIRONMENT: Final = (
    f"LANG=C.UTF-8 USER=agent PYTHONPATH={LIBRARIES} PYTHONNOUSERSITE=1 PYTHONDONTWRITEBYTECODE=1 "
    # A result file called `json.py` must not be taken for Python's own.
    "PYTHONSAFEPATH=1"
)
_RUN_PROGRAM: Final = (
    f"import runpy, sys; sys.path.append({LIBRARIES!r}); sys.argv = sys.argv[1:]; "
    "runpy.run_path(sys.argv[0], run_name='__main__')"
)


@dataclass(frozen=True, slots=True)
class FilesThere:
    """A command's folder while it still is there."""

    sandbox: Sandbox
    folder: str
    ended: ExecResult

    async def download(self, paths: Collection[str]) -> dict[str, bytes]:
        """What these files, relative to the folder, hold; those that cannot be read are left out.

        Raises:
            SandboxUnavailable: the sandbox was lost.
        """
        wanted = list(paths)
        if not wanted:
            return {}
        read = await self.sandbox.download([posixpath.join(self.folder, path) for path in wanted])
        return {
            path: content
            for path, content in zip(wanted, read, strict=True)
            if not isinstance(content, FileError)
        }


class CleanSandbox:
    """One sandbox of ours, opened when it is first needed. Commands run one after another."""

    def __init__(self, sandboxes: "CleanSandboxes", name: str) -> None:
        self._sandboxes = sandboxes
        self._name = name
        self._turn = asyncio.Lock()
        self._open = AsyncExitStack()
        self._sandbox: Sandbox | None = None
        self._processes = 0
        """How many there are when nothing is left running."""

    async def run_command(self, command: str, files: ResultFiles, *, seconds: float) -> ExecResult:
        """Run a shell command in a folder of its own with these files.

        Raises:
            SandboxUnavailable: there is no sandbox, or it was lost.
        """
        async with self._folder_of_its_own() as (sandbox, place):
            return await _run(sandbox, place, command, files, seconds)

    async def run_program(self, source: str, files: ResultFiles, *, seconds: float) -> ExecResult:
        """As `run_command`, for a Python program: it sees Python's own modules and our libraries.

        Raises:
            SandboxUnavailable: there is no sandbox, or it was lost.
        """
        async with self._folder_of_its_own() as (sandbox, place):
            program = f"{place}/check.py"
            await _put(sandbox, {program: source.encode()})
            command = f"python3 -I -S -B -c {shlex.quote(_RUN_PROGRAM)} {program}"
            return await _run(sandbox, place, command, files, seconds)

    @asynccontextmanager
    async def only_command(
        self, command: str, files: ResultFiles, *, seconds: float
    ) -> AsyncIterator[FilesThere]:
        """As `run_command`, always in the same folder, with a look at what is left there.

        For a sandbox that nothing else runs in.
        """
        sandbox = await self._opened()
        ended = await _run(sandbox, WORKSPACE, command, files, seconds)
        yield FilesThere(sandbox, WORKBENCH_FOLDER, ended)

    async def close(self) -> None:
        self._sandbox = None
        stack, self._open = self._open, AsyncExitStack()
        await stack.aclose()

    @asynccontextmanager
    async def _folder_of_its_own(self) -> AsyncIterator[tuple[Sandbox, str]]:
        """A folder that a command before could not have put anything into; gone afterwards."""
        async with self._turn:
            sandbox = self._sandbox or await self._opened()
            place = f"{WORKSPACE}/{secrets.token_hex(8)}"
            yield sandbox, place
            # What a command leaves running could meddle with the next one.
            if await _processes_after(sandbox, f"rm -rf {place}") != self._processes:
                await self.close()

    async def _opened(self) -> Sandbox:
        sandbox = await self._open.enter_async_context(self._sandboxes.open(self._name))
        self._processes = await _processes_after(sandbox, "true")
        self._sandbox = sandbox
        return sandbox


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanSandboxes:
    """Gives clean sandboxes: no network, no skills, nothing installed, and our libraries."""

    provider: SandboxProvider
    tools: Path
    """A folder that holds the folder of our libraries."""
    limits: Limits

    @asynccontextmanager
    async def lazily(self, name: str) -> AsyncIterator[CleanSandbox]:
        """One that is opened when it is needed, and gone afterwards."""
        clean = CleanSandbox(self, name)
        try:
            yield clean
        finally:
            await clean.close()

    def open(self, name: str) -> AbstractAsyncContextManager[Sandbox]:
        """Raises SandboxUnavailable."""
        return self.provider.open(
            name=name, skills=self.tools, network="blocked", limits=self.limits
        )


async def _run(
    sandbox: Sandbox, place: str, command: str, files: ResultFiles, seconds: float
) -> ExecResult:
    folder, home, temporary = (f"{place}/{name}" for name in ("task", "home", "temporary"))
    await _put(sandbox, {f"{folder}/{path}": data for path, data in files.contents.items()})
    programs = " ".join(shlex.quote(f"./{path}") for path in sorted(files.programs))
    script = (
        f"{_CLEAN_PATH}; mkdir -p {folder} {home} {temporary} && cd {folder} || exit 125\n"
        + (f"chmod +x {programs}\n" if programs else "")
        + f'exec env -i PATH="$PATH" HOME={home} TMPDIR={temporary} {_ENVIRONMENT} '
        f"bash --noprofile --norc -c {shlex.quote(command)}"
    )
    return await sandbox.execute(script, timeout_s=seconds)


async def _processes_after(sandbox: Sandbox, command: str) -> int:
    counted = await sandbox.execute(f"{_CLEAN_PATH}; {command}; set -- /proc/[0-9]*; exit $#")
    return counted.exit_code


async def _put(sandbox: Sandbox, files: Mapping[str, bytes]) -> None:
    if not files:
        return
    answers = await sandbox.upload(list(files.items()))
    problem = next((answer for answer in answers if answer is not None), None)
    if problem is not None:
        raise SandboxUnavailable(
            f"File {problem.path} could not be put into a clean sandbox: {problem.problem}"
        )
