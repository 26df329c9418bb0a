"""The workbench on the bus: any runner that is there answers."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from assay_agentkit.failures import AgentFailed
from assay_contracts.base import Model
from assay_contracts.rpc import ProblemError, Rpc
from assay_contracts.tasks import TaskFile
from assay_contracts.workbench import ChecksTried, CommandRan, RunOnWorkbench, TryChecks

R = TypeVar("R", bound=Model)

_PAUSES_S: Final = (0.0, 1.0, 3.0)
"""Before each try: nothing was kept anywhere, so another runner can begin anew."""
_ANSWER_S: Final = 60.0
"""Beyond the time of a command: for its turn, and to open a sandbox."""
_CHECKS_S: Final = 300.0


class Ask(Protocol):
    """The bus, as far as it is needed here."""

    def __call__(self, question: Rpc[R], *, timeout_s: float) -> Awaitable[R]: ...


@dataclass(frozen=True, slots=True)
class WorkbenchOnBus:
    """Asks runners. One that dies has nothing that another would need."""

    ask: Ask

    async def run(self, command: str, files: Sequence[TaskFile], *, seconds: float) -> CommandRan:
        question = RunOnWorkbench(files=tuple(files), command=command, seconds=seconds)
        return await self._asking(lambda: self.ask(question, timeout_s=seconds + _ANSWER_S))

    async def try_checks(self, question: TryChecks) -> ChecksTried:
        return await self._asking(lambda: self.ask(question, timeout_s=_CHECKS_S))

    async def _asking(self, ask: Callable[[], Awaitable[R]]) -> R:
        refusal = ""
        for pause in _PAUSES_S:
            await asyncio.sleep(pause)
            try:
                return await ask()
            except ProblemError as error:
                refusal = error.problem.message
                if error.problem.code != "SERVICE_UNAVAILABLE":
                    break
        raise AgentFailed("sandbox", f"The planner's sandbox is not to be had: {refusal}")
