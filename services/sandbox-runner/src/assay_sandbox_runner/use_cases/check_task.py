import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from assay_contracts.tasks import (
    Check,
    CheckResult,
    CommandCheck,
    FileCheck,
    PatternCheck,
    ProgramCheck,
)
from assay_sandbox_runner.domain.result_files import ResultFiles
from assay_sandbox_runner.domain.text import clip
from assay_sandbox_runner.ports import FindPattern, PatternProblem
from assay_sandbox_runner.use_cases.clean_sandbox import CleanSandbox
from assay_sandboxes.port import ExecResult

_DETAIL_CHARS: Final = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckTask:
    """Run a task's checks on what its work left behind: code's own opinion of the work.

    Nothing runs where the agent worked. Files and patterns are looked at here; commands and
    programs run on a copy of the files in a clean sandbox, with our own tools.
    """

    find_pattern: FindPattern
    seconds: float
    """Longest that the command or program of one check may take."""

    async def __call__(
        self,
        checks: Sequence[Check],
        files: ResultFiles,
        *,
        output: str,
        clean: CleanSandbox,
    ) -> tuple[CheckResult, ...]:
        """What each check says of these files, and of what the agent printed and said.

        Raises:
            SandboxUnavailable: a clean sandbox cannot be had, or was lost.
        """
        results = []
        for check in checks:
            passed, detail = await self._run(check, files, output, clean)
            results.append(
                CheckResult(check=check, passed=passed, detail=clip(detail, _DETAIL_CHARS).text)
            )
        return tuple(results)

    async def _run(
        self, check: Check, files: ResultFiles, output: str, clean: CleanSandbox
    ) -> tuple[bool, str]:
        match check:
            case CommandCheck():
                ended = await clean.run_command(check.command, files, seconds=self.seconds)
                return self._ended(ended, check.exit_code)
            case ProgramCheck():
                ended = await clean.run_program(check.source, files, seconds=self.seconds)
                return self._ended(ended, 0)
            case FileCheck():
                state = files.state_of(check.path)
                return not state, f"{check.path} {state or 'is there and is not empty'}"
            case PatternCheck():
                return await self._pattern(check, files, output)
            case _:
                assert_never(check)

    def _ended(self, ended: ExecResult, wanted: int) -> tuple[bool, str]:
        if ended.timed_out:
            return False, f"killed: it had not ended after {self.seconds:g} s\n{ended.output}"
        detail = f"exit code {ended.exit_code}\n{ended.output}".strip()
        return ended.exit_code == wanted, detail

    async def _pattern(
        self, check: PatternCheck, files: ResultFiles, output: str
    ) -> tuple[bool, str]:
        where, text = "the agent's output", output
        if check.path is not None:
            where = check.path
            content = files.contents.get(posixpath.normpath(check.path))
            if content is None:
                return False, f"{check.path} {files.state_of(check.path) or 'is too large'}"
            text = content.decode("utf-8", errors="replace")
        try:
            found = await self.find_pattern(check.pattern, text)
        except PatternProblem as problem:
            return False, str(problem)
        return found is not None, f"found in {where}: {found}" if found else f"not in {where}"
