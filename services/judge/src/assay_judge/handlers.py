from assay_contracts.grades import GradingRequested
from assay_contracts.reports import ReportRequested
from assay_contracts.validations import ValidationRequested
from assay_judge.settings import Settings
from assay_judge.use_cases.grade_run import GradeRun
from assay_judge.use_cases.plan_tasks import PlanTasks
from assay_judge.use_cases.write_report import WriteReport
from assay_servicekit.bus import Bus


def register(
    bus: Bus, settings: Settings, *, plan: PlanTasks, grade: GradeRun, report: WriteReport
) -> None:
    """Tell the bus who carries out which work."""
    bus.on_work(ValidationRequested, plan, slots=settings.judge_concurrency)
    bus.on_work(GradingRequested, grade, slots=settings.judge_concurrency)
    bus.on_work(ReportRequested, report, slots=settings.judge_concurrency)
