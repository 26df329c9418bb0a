from dataclasses import dataclass

from assay_contracts.base import Failure, Result
from assay_contracts.validations import KeepFinished, KeepRequested
from assay_sandbox_runner.ports import Environments
from assay_sandboxes.port import EnvironmentMissing, SandboxUnavailable


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepSnapshots:
    """Keep environments that became runtime versions."""

    environments: Environments

    async def __call__(self, request: KeepRequested) -> Result:
        """Every one is kept; or why not."""
        try:
            for name in request.snapshots:
                await self.environments.keep(name)
        except SandboxUnavailable as error:
            failed = request.failed(Failure.of("sandbox", str(error)))
            return failed.model_copy(update={"gone": isinstance(error, EnvironmentMissing)})
        return KeepFinished(
            validation_id=request.validation_id,
            step_id=request.step_id,
            attempt=request.attempt,
        )
