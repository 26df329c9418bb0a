"""Running a task's checks in the sandbox it was worked on in."""

import posixpath
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from assay_contracts.runs import TraceStep
from assay_contracts.tasks import Check, CheckResult, CommandCheck, FileCheck, PatternCheck
from assay_sandbox_runner.domain.attempt import Attempt
from assay_sandbox_runner.domain.text import clip
from assay_sandbox_runner.domain.timing import Stopwatch
from assay_sandbox_runner.ports import FindPattern, PatternProblem
from assay_sandboxes.port import FileError, Sandbox

_DETAIL_CHARS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckTask:
    """Code's own opinion on what an agent left behind."""

    find_pattern: FindPattern
    seconds: float
    """For one command."""

    async def __call__(
        self,
        checks: Sequence[Check],
        attempt: Attempt,
        *,
        sandbox: Sandbox,
        folder: str,
        stopwatch: Stopwatch,
    ) -> tuple[CheckResult, ...]:
        """Raises SandboxUnavailable."""
        results = []
        for check in checks:
            with stopwatch.running():
                passed, detail = await self._look(check, attempt, sandbox, folder)
            results.append(
                CheckResult(check=check, passed=passed, detail=clip(detail, _DETAIL_CHARS).text)
            )
        return tuple(results)

    async def _look(
        self, check: Check, attempt: Attempt, sandbox: Sandbox, folder: str
    ) -> tuple[bool, str]:
        match check:
            case CommandCheck():
                return await self._command(check, sandbox, folder)
            case FileCheck():
                return await _file(check, sandbox, folder)
            case PatternCheck():
                return await self._pattern(check, attempt, sandbox, folder)
            case _:
                assert_never(check)

    async def _command(
        self, check: CommandCheck, sandbox: Sandbox, folder: str
    ) -> tuple[bool, str]:
        result = await sandbox.execute(check.command, timeout_s=self.seconds, cwd=folder)
        if result.timed_out:
            return False, f"killed: it had not ended after {self.seconds:g} s\n{result.output}"
        detail = f"exit code {result.exit_code}\n{result.output}".strip()
        return result.exit_code == check.exit_code, detail

    async def _pattern(
        self, check: PatternCheck, attempt: Attempt, sandbox: Sandbox, folder: str
    ) -> tuple[bool, str]:
        if check.path is None:
            where, text = "the agent's output", _output_of(attempt)
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
        f"test -e {path} || exit 3; test -f {path} || exit 4; test -s {path} || exit 5", cwd=folder
    )
    why = {
        0: "is there and is not empty",
        3: "is not there",
        4: "is not a file",
        5: "is empty",
    }
    return result.exit_code == 0, f"{check.path} {why.get(result.exit_code, 'cannot be looked at')}"


def _output_of(attempt: Attempt) -> str:
    """What the agent's commands printed, then its answer."""
    return "\n".join(
        (*(step.output for step in attempt.steps if _is_command(step)), attempt.answer)
    )


def _is_command(step: TraceStep) -> bool:
    return step.tool == "execute" and not step.failed
