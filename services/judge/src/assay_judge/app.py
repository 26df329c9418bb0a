from assay_agentkit.bounds import Bounds
from assay_judge.adapters.agents import DeepAgents, NamedModel
from assay_judge.adapters.objects import StoredBundles, StoredJudgeTraces, StoredTraces
from assay_judge.adapters.workbench import WorkbenchOnBus
from assay_judge.domain.plan import rules_for
from assay_judge.handlers import register
from assay_judge.ports import Workbench
from assay_judge.settings import Settings
from assay_judge.use_cases.grade_run import GradeRun
from assay_judge.use_cases.plan_tasks import PlanTasks
from assay_judge.use_cases.write_report import WriteReport
from assay_rehearsal.conversation import Policy
from assay_rehearsal.grader import grader_policy
from assay_rehearsal.model import model_label, open_model
from assay_rehearsal.planner.policy import planner_policy
from assay_rehearsal.reporter import reporter_policy
from assay_servicekit.bus import Bus
from assay_servicekit.service import Service


def create_app(settings: Settings) -> Service:
    """Wire the judge; nothing is connected until it is served.

    Raises:
        ModelMisconfigured: a model setting names nothing that can be opened.
    """
    bus = Bus(settings, "judge")
    workbench = WorkbenchOnBus(bus.ask)
    agents = open_agents(settings, workbench)
    judge_traces = StoredJudgeTraces(bus.objects)
    register(
        bus,
        settings,
        plan=PlanTasks(
            bundles=StoredBundles(bus.objects),
            agents=agents,
            workbench=workbench,
            traces=judge_traces,
            # The rehearsal makes none: it would have to run the skill for it.
            needs_references=settings.judge_model is not None,
        ),
        grade=GradeRun(
            traces=StoredTraces(bus.objects),
            agents=agents,
            judge_traces=judge_traces,
            samples=settings.judge_samples,
        ),
        report=WriteReport(agents=agents),
    )
    return Service(bus=bus, settings=settings)


def open_agents(settings: Settings, workbench: Workbench) -> DeepAgents:
    """The judge's agents with the models the settings name."""

    def named(spec: str | None, policy: Policy, *, reads_skills: bool = False) -> NamedModel:
        chat = open_model(spec, policy=policy, settings=settings, reads_skills=reads_skills)
        known_to_see = bool((chat.profile or {}).get("image_inputs"))
        asked_to_see = settings.judge_sees_images
        return NamedModel(
            chat,
            model_label(spec),
            sees_pictures=known_to_see if asked_to_see is None else asked_to_see,
        )

    return DeepAgents(
        planner_model=named(settings.judge_model, planner_policy(rules_for), reads_skills=True),
        grader_model=named(settings.judge_model, grader_policy),
        reporter_model=named(settings.report_model or settings.judge_model, reporter_policy),
        workbench=workbench,
        bounds=Bounds(model_calls=settings.judge_model_calls, seconds=settings.judge_timeout_s),
    )
