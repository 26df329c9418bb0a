from assay_contracts.runs import RunRequested
from assay_contracts.validations import CleanupRequested, KeepRequested
from assay_contracts.workbench import RunOnWorkbench, TryChecks
from assay_sandbox_runner.settings import Settings
from assay_sandbox_runner.use_cases.carry_out_run import CarryOutRun
from assay_sandbox_runner.use_cases.clean_up import CleanUp
from assay_sandbox_runner.use_cases.keep_snapshots import KeepSnapshots
from assay_sandbox_runner.use_cases.try_on_workbench import RunWorkbenchCommand, TryTaskChecks
from assay_servicekit.bus import Bus


def register(
    bus: Bus,
    settings: Settings,
    *,
    run: CarryOutRun,
    clean_up: CleanUp,
    keep: KeepSnapshots,
    run_command: RunWorkbenchCommand,
    try_checks: TryTaskChecks,
) -> None:
    """Tell the bus who carries out which work, and who answers which question."""
    bus.on_work(RunRequested, run, slots=settings.concurrency)
    bus.on_work(CleanupRequested, clean_up, slots=1)
    bus.on_work(KeepRequested, keep, slots=1)
    bus.on_question(RunOnWorkbench, run_command)
    bus.on_question(TryChecks, try_checks)
