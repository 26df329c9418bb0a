"""What planners ask of the workbench: a command, or a task's checks, in a sandbox of its own."""

import asyncio
import posixpath
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from assay_contracts.rpc import Problem, ProblemDetails, ProblemError
from assay_contracts.tasks import TaskFile
from assay_contracts.workbench import (
    OUTPUT_CHARS,
    WORKBENCH_BYTES,
    WORKBENCH_FILES,
    ChecksTried,
    CommandRan,
    RunOnWorkbench,
    TryChecks,
)
from assay_sandbox_runner.domain.result_files import ResultFiles
from assay_sandbox_runner.domain.text import clip
from assay_sandbox_runner.use_cases.check_task import CheckTask
from assay_sandbox_runner.use_cases.clean_sandbox import CleanSandboxes, FilesThere
from assay_sandbox_runner.use_cases.task_folder import list_files
from assay_sandboxes.port import SandboxUnavailable

_RETRY_AFTER_S: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWorkbenchCommand:
    """Run one command of a planner's among its files, in a sandbox that lives as long as that."""

    clean_sandboxes: CleanSandboxes
    places: asyncio.Semaphore
    """As many as may be at work at once; the others wait."""

    async def __call__(self, question: RunOnWorkbench) -> CommandRan:
        """Raises ProblemError: no sandbox can be had, or it was lost."""
        files = _inside(question.files)
        try:
            async with (
                self.places,
                self.clean_sandboxes.lazily("workbench") as clean,
                clean.only_command(question.command, files, seconds=question.seconds) as there,
            ):
                return await _what_came_of(there, files)
        except SandboxUnavailable as error:
            raise _unavailable(error) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class TryTaskChecks:
    """Try a task's checks on its inputs alone, and on a right result."""

    clean_sandboxes: CleanSandboxes
    check: CheckTask
    places: asyncio.Semaphore

    async def __call__(self, question: TryChecks) -> ChecksTried:
        """Raises ProblemError: no sandbox can be had, or it was lost."""
        inputs, reference = _inside(question.inputs), question.reference
        try:
            async with self.places, self.clean_sandboxes.lazily("workbench") as clean:
                on_inputs = await self.check(question.checks, inputs, output="", clean=clean)
                if reference is None:
                    return ChecksTried(on_inputs=on_inputs)
                result = _inside((*question.inputs, *reference.files))
                return ChecksTried(
                    on_inputs=on_inputs,
                    on_reference=await self.check(
                        question.checks, result, output=reference.answer, clean=clean
                    ),
                )
        except SandboxUnavailable as error:
            raise _unavailable(error) from error


async def _what_came_of(there: FilesThere, given: ResultFiles) -> CommandRan:
    left = await list_files(there.sandbox, there.folder, ())
    sizes = {path: file.size for path, file in left.items()}
    small = [path for path, size in sizes.items() if size <= WORKBENCH_BYTES]
    read = await there.download(small[: 4 * WORKBENCH_FILES])
    changed = {path: data for path, data in read.items() if given.contents.get(path) != data}
    carried, room = [], WORKBENCH_BYTES
    for path in sorted(changed, key=lambda path: len(changed[path]))[:WORKBENCH_FILES]:
        if len(changed[path]) <= room:
            room -= len(changed[path])
            carried.append(TaskFile.of(path, changed[path]))
    shown = clip(there.ended.output, OUTPUT_CHARS)
    new = frozenset(changed) | (frozenset(sizes) - frozenset(read))
    return CommandRan(
        exit_code=there.ended.exit_code,
        output=shown.text,
        truncated=there.ended.truncated or shown.truncated,
        timed_out=there.ended.timed_out,
        files=tuple(carried),
        deleted=tuple(sorted(frozenset(given.contents) - frozenset(left))),
        left_behind=tuple(sorted(new - {file.path for file in carried}))[:WORKBENCH_FILES],
    )


def _inside(files: Iterable[TaskFile]) -> ResultFiles:
    """The files, as long as all of them keep to their folder."""
    given = list(files)
    for file in given:
        clean = posixpath.normpath(file.path)
        if clean in {".", ".."} or clean.startswith(("/", "../")) or "\0" in clean:
            raise ProblemError(
                Problem(
                    code="INVALID_REQUEST",
                    message=f"{file.path!r} is not a plain relative path. Name the file otherwise.",
                )
            )
    return ResultFiles.of(given)


def _unavailable(error: SandboxUnavailable) -> ProblemError:
    return ProblemError(
        Problem(
            code="SERVICE_UNAVAILABLE",
            message=f"No sandbox can be had now: {error}. Try again in a few seconds.",
            details=ProblemDetails(retry_after_s=_RETRY_AFTER_S),
        )
    )
