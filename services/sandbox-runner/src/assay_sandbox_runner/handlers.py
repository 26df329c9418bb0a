from assay_contracts.runs import RunRequested
from assay_contracts.validations import CleanupRequested
from assay_sandbox_runner.service import CarryOutRun, CleanUp
from assay_sandbox_runner.settings import Settings
from assay_servicekit.bus import Bus


def register(bus: Bus, settings: Settings, run: CarryOutRun, clean: CleanUp) -> None:
    """Listen for runs to carry out and snapshots to delete."""
    bus.on_work(RunRequested, run, slots=settings.concurrency)
    bus.on_work(CleanupRequested, clean, slots=1)
