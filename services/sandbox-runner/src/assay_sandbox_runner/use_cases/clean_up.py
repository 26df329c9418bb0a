from dataclasses import dataclass

from assay_contracts.base import Failure, Result
from assay_contracts.validations import CleanupFinished, CleanupRequested
from assay_sandboxes.port import SandboxProvider, SandboxUnavailable


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanUp:
    """Delete snapshots that nobody needs any more."""

    provider: SandboxProvider

    async def __call__(self, request: CleanupRequested) -> Result:
        """Every snapshot is gone; or why not."""
        try:
            for name in request.snapshots:
                await self.provider.delete_snapshot(name)
        except SandboxUnavailable as error:
            return request.failed(Failure.of("sandbox", str(error)))
        return CleanupFinished(
            validation_id=request.validation_id,
            step_id=request.step_id,
            attempt=request.attempt,
        )
