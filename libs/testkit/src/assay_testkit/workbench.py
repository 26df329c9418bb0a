"""A workbench without a bus: the runner's own use cases, called straight."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from assay_agentkit.failures import AgentFailed
from assay_contracts.rpc import ProblemError
from assay_contracts.tasks import TaskFile
from assay_contracts.workbench import ChecksTried, CommandRan, RunOnWorkbench, TryChecks
from assay_sandbox_runner.adapters.patterns import find_pattern
from assay_sandbox_runner.use_cases.check_task import CheckTask
from assay_sandbox_runner.use_cases.clean_sandbox import CleanSandboxes
from assay_sandbox_runner.use_cases.try_on_workbench import RunWorkbenchCommand, TryTaskChecks


@dataclass(frozen=True)
class WorkbenchHere:
    """In real sandboxes of this process."""

    clean_sandboxes: CleanSandboxes
    places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(5))

    async def run(self, command: str, files: Sequence[TaskFile], *, seconds: float) -> CommandRan:
        question = RunOnWorkbench(files=tuple(files), command=command, seconds=seconds)
        run = RunWorkbenchCommand(clean_sandboxes=self.clean_sandboxes, places=self.places)
        try:
            return await run(question)
        except ProblemError as error:
            raise AgentFailed("sandbox", error.problem.message) from error

    async def try_checks(self, question: TryChecks) -> ChecksTried:
        check = CheckTask(find_pattern=find_pattern, seconds=10.0)
        run = TryTaskChecks(clean_sandboxes=self.clean_sandboxes, check=check, places=self.places)
        try:
            return await run(question)
        except ProblemError as error:
            raise AgentFailed("sandbox", error.problem.message) from error
