import posixpath
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from assay_contracts.tasks import Check, CheckResult, CommandCheck, FileCheck, PatternCheck
from assay_sandbox_runner.domain.text import clip
from assay_sandbox_runner.domain.timing import Stopwatch
from assay_sandbox_runner.domain.work_done import WorkDone
from assay_sandbox_runner.ports import FindPattern, PatternProblem
from assay_sandboxes.port import FileError, Sandbox

_DETAIL_CHARS: Final = 2000
_MISSING, _NO_FILE, _EMPTY = 3, 4, 5
_FILE_STATES: Final = {
    0: "is there and is not empty",
    _MISSING: "is not there",
    _NO_FILE: "is not a file",
    _EMPTY: "is empty",
}
"""What the exit codes of the command that looks at a file mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckTask:
    """Run a task's checks in the sandbox it was worked on in: code's own opinion of the work."""

    find_pattern: FindPattern
    command_seconds: float
    """Longest that the command of one check may take."""

    async def __call__(
        self,
        checks: Sequence[Check],
        work: WorkDone,
        *,
        sandbox: Sandbox,
        folder: str,
        stopwatch: Stopwatch,
    ) -> tuple[CheckResult, ...]:
        """What each check says of the work; its command runs in `folder`.

        Raises:
            SandboxUnavailable: the sandbox was lost.
        """
        results = []
        for check in checks:
            with stopwatch.running():
                passed, detail = await self._run(check, work, sandbox, folder)
            results.append(
                CheckResult(check=check, passed=passed, detail=clip(detail, _DETAIL_CHARS).text)
            )
        return tuple(results)

    async def _run(
        self, check: Check, work: WorkDone, sandbox: Sandbox, folder: str
    ) -> tuple[bool, str]:
        match check:
            case CommandCheck():
                return await self._command(check, sandbox, folder)
            case FileCheck():
                return await _file(check, sandbox, folder)
            case PatternCheck():
                return await self._pattern(check, work, sandbox, folder)
            case _:
                assert_never(check)

    async def _command(
        self, check: CommandCheck, sandbox: Sandbox, folder: str
    ) -> tuple[bool, str]:
        result = await sandbox.execute(check.command, timeout_s=self.command_seconds, cwd=folder)
        if result.timed_out:
            killed = f"killed: it had not ended after {self.command_seconds:g} s"
            return False, f"{killed}\n{result.output}"
        detail = f"exit code {result.exit_code}\n{result.output}".strip()
        return result.exit_code == check.exit_code, detail

    async def _pattern(
        self, check: PatternCheck, work: WorkDone, sandbox: Sandbox, folder: str
    ) -> tuple[bool, str]:
        if check.path is None:
            where, text = "the agent's output", work.output
        else:
            where = check.path
            (content,) = await sandbox.download([posixpath.join(folder, check.path)])
            if isinstance(content, FileError):
                return False, f"{check.path}: {content.problem}"
            text = content.decode("utf-8", errors="replace")
        try:
            found = await self.find_pattern(check.pattern, text)
        except PatternProblem as problem:
            return False, str(problem)
        return found is not None, f"found in {where}: {found}" if found else f"not in {where}"


async def _file(check: FileCheck, sandbox: Sandbox, folder: str) -> tuple[bool, str]:
    path = shlex.quote(check.path)
    result = await sandbox.execute(
        f"test -e {path} || exit {_MISSING}; test -f {path} || exit {_NO_FILE}; "
        f"test -s {path} || exit {_EMPTY}",
        cwd=folder,
    )
    state = _FILE_STATES.get(result.exit_code, "cannot be looked at")
    return result.exit_code == 0, f"{check.path} {state}"
