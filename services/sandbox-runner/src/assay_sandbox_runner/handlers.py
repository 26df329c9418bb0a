from assay_contracts.runs import RunRequested
from assay_contracts.validations import CleanupRequested, KeepRequested
from assay_sandbox_runner.service import CarryOutRun, CleanUp, Keep
from assay_sandbox_runner.settings import Settings
from assay_servicekit.bus import Bus


def register(bus: Bus, settings: Settings, run: CarryOutRun, clean: CleanUp, keep: Keep) -> None:
    """Listen for runs to carry out and snapshots to keep or delete."""
    bus.on_work(RunRequested, run, slots=settings.concurrency)
    bus.on_work(CleanupRequested, clean, slots=1)
    bus.on_work(KeepRequested, keep, slots=1)
