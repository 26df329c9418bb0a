"""Sandboxes at Daytona. The SDK is heavy: import this only where it is used."""

from assay_sandbox_runner.adapters.daytona.faults import Pace
from assay_sandbox_runner.adapters.daytona.provider import Account, DaytonaProvider

__all__ = ["Account", "DaytonaProvider", "Pace"]
