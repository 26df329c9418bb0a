import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from assay_contracts.obstacles import LimitKind
from assay_contracts.runs import Ecosystem, Installation
from assay_contracts.skills import Dependencies
from assay_sandbox_runner.domain.install_failures import cause_of_failure, explanation
from assay_sandbox_runner.domain.obstacles import limits_told
from assay_sandbox_runner.domain.package_managers import PackageManager
from assay_sandboxes.port import ExecResult, Sandbox

_ONE_BY_ONE: Final = 30
"""So many requirements are tried each alone, where all together could not be installed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallDeclared:
    """Install what a skill declares, and what its documents show how to install, once for all."""

    managers: Mapping[Ecosystem, PackageManager]
    seconds: float
    """That each package manager may take."""

    async def __call__(
        self, sandbox: Sandbox, dependencies: Dependencies
    ) -> tuple[Installation, ...]:
        """What was installed, and what could not be and why.

        Raises:
            SandboxUnavailable: the sandbox was lost.
        """
        wanted: tuple[tuple[Ecosystem, Sequence[str], bool], ...] = (
            ("pip", dependencies.pip, True),
            ("npm", dependencies.npm, True),
            ("pip", dependencies.shown_pip, False),
            ("npm", dependencies.shown_npm, False),
        )
        done: list[Installation] = []
        for ecosystem, requirements, required in wanted:
            if requirements:
                installing = _Installing(
                    sandbox=sandbox,
                    manager=self.managers[ecosystem],
                    ecosystem=ecosystem,
                    declared_in=dependencies.declared_in,
                    required=required,
                    until=time.monotonic() + self.seconds,
                )
                done += await installing.all_of(requirements)
        return tuple(done)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Installing:
    """One package manager at work on one list."""

    sandbox: Sandbox
    manager: PackageManager
    ecosystem: Ecosystem
    declared_in: Mapping[str, str]
    required: bool
    until: float
    """When its time is up, by the clock that never goes back."""

    async def all_of(self, requirements: Sequence[str]) -> list[Installation]:
        """All at once; where that fails for what is in the list, each alone, to tell which."""
        together = await self._install(requirements)
        blames_one = together.cause in ("missing", "broken", "conflict")
        if not blames_one or len(requirements) == 1:
            return [together]
        alone = [await self._install([each]) for each in requirements[:_ONE_BY_ONE]]
        failed = [each for each in alone if each.failure is not None]
        if not failed:
            return [together.model_copy(update={"cause": "conflict"})]
        installed = tuple(each.requirements[0] for each in alone if each.failure is None)
        return [*([self._record(installed, together.seconds)] if installed else []), *failed]

    async def _install(self, requirements: Sequence[str]) -> Installation:
        began, since = time.monotonic(), datetime.now(UTC)
        left = max(1.0, self.until - began)
        result = await self.sandbox.execute(
            self.manager.install_declared(requirements), timeout_s=left
        )
        record = self._record(requirements, time.monotonic() - began)
        if result.exit_code == 0:
            return record
        calls = await self.sandbox.network_calls()
        problems = {call.problem for call in calls if call.problem and call.at >= since}
        cause = cause_of_failure(result.output, limits=_limits(result), problems=problems)
        failure = explanation(result.output, result.exit_code)
        return record.model_copy(update={"failure": failure, "cause": cause})

    def _record(self, requirements: Sequence[str], seconds: float) -> Installation:
        files = (self.declared_in.get(each) for each in requirements)
        return Installation(
            ecosystem=self.ecosystem,
            requirements=tuple(requirements),
            declared_in=tuple(dict.fromkeys(file for file in files if file)),
            required=self.required,
            seconds=round(seconds, 2),
        )


def _limits(result: ExecResult) -> tuple[LimitKind, ...]:
    waited: tuple[LimitKind, ...] = ("time",) if result.timed_out else ()
    return (*result.limits_hit, *waited, *limits_told(result.output, result.exit_code))
