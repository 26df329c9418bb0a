from dataclasses import dataclass

from assay_contracts.base import Failure, Result
from assay_contracts.validations import KeepFinished, KeepRequested
from assay_sandboxes.port import SandboxProvider, SandboxUnavailable, SnapshotMissing


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepSnapshots:
    """Keep snapshots that became runtime versions."""

    provider: SandboxProvider

    async def __call__(self, request: KeepRequested) -> Result:
        """Every snapshot is kept; or why not."""
        try:
            for name in request.snapshots:
                await self.provider.keep_snapshot(name)
        except SandboxUnavailable as error:
            failed = request.failed(Failure.of("sandbox", str(error)))
            return failed.model_copy(update={"gone": isinstance(error, SnapshotMissing)})
        return KeepFinished(
            validation_id=request.validation_id,
            step_id=request.step_id,
            attempt=request.attempt,
        )
