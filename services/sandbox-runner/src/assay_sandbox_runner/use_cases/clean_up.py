from dataclasses import dataclass

from assay_contracts.base import Failure, Result
from assay_contracts.validations import CleanupFinished, CleanupRequested
from assay_sandbox_runner.ports import Environments
from assay_sandboxes.port import SandboxUnavailable


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanUp:
    """Delete environments that nobody needs any more."""

    environments: Environments

    async def __call__(self, request: CleanupRequested) -> Result:
        """Every one is gone; or why not."""
        try:
            for name in request.snapshots:
                await self.environments.delete(name)
        except SandboxUnavailable as error:
            return request.failed(Failure.of("sandbox", str(error)))
        return CleanupFinished(
            validation_id=request.validation_id,
            step_id=request.step_id,
            attempt=request.attempt,
        )
