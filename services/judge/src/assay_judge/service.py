"""The judge's three jobs. What a model says is believed only after code has checked it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from assay_agentkit.failures import AgentFailed
from assay_agentkit.side_by_side import together
from assay_contracts.base import Failure, Result
from assay_contracts.grades import Grade, GradingRequested, RunGraded
from assay_contracts.reports import ReportRequested, ReportWritten
from assay_contracts.runs import ModelUse, TaskOutcome
from assay_contracts.tasks import Task
from assay_contracts.validations import ValidationPlanned, ValidationRequested
from assay_judge.domain.blindness import Secret
from assay_judge.domain.bundle import SkillFiles, read_skill_files
from assay_judge.domain.grading import draft_problems, settle
from assay_judge.domain.plan import as_tasks, plan_problems
from assay_judge.domain.prose import as_prose, prose_problems
from assay_judge.ports import Agents, Bundles, Graders, Session, StoreFailed, Traces
from assay_skillkit.bundle import BundleUnreadable
from assay_skillkit.document import parse_skill

PLAN_TRIES = 3
GRADE_TRIES = 3
REPORT_TRIES = 2

T = TypeVar("T")


async def settled_draft(
    session: Session[T], problems_of: Callable[[T], Sequence[str]], *, tries: int
) -> T:
    """Ask until a draft has no problems, naming what was wrong each time.

    Raises:
        AgentFailed: none had after `tries`, or the agent failed.
    """
    problems: Sequence[str] = ()
    for _ in range(tries):
        draft = await session.ask(problems)
        problems = problems_of(draft)
        if not problems:
            return draft
    raise AgentFailed(
        "model", f"The model's answer was refused {tries} times, last for: {' '.join(problems)}"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanTasks:
    """Writes blind tasks for a skill."""

    bundles: Bundles
    agents: Agents

    async def __call__(self, request: ValidationRequested) -> Result:
        try:
            data = await self.bundles.get(request.bundle)
            skill = read_skill_files(data, ref=request.bundle, skill_name=request.skill_name)
            known = request.known_tasks
            session = self.agents.planner(
                skill, request.task_count, known=known, tokens=request.token_budget
            )
            secret = secret_of(skill)
            plan = await settled_draft(
                session,
                lambda draft: plan_problems(
                    draft, secret=secret, task_count=request.task_count, known=known
                ),
                tries=PLAN_TRIES,
            )
        except (StoreFailed, BundleUnreadable) as error:
            return request.failed(Failure.of("bus", f"The skill could not be read: {error}"))
        except AgentFailed as failure:
            return request.failed(_failure("Planning", failure, session.use()))
        return ValidationPlanned(
            validation_id=request.validation_id,
            step_id=request.step_id,
            attempt=request.attempt,
            tasks=as_tasks(plan, known),
            model=session.use(),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeRun:
    """Grades each task of a run from its trace."""

    traces: Traces
    agents: Agents
    samples: int

    async def __call__(self, request: GradingRequested) -> Result:
        tasks = {task.task_id: task for task in request.tasks}
        graders = self.agents.graders(request.run_kind, tokens=request.token_budget)
        try:
            grades = await together(
                self._grade(graders, tasks[outcome.task_id], outcome)
                for outcome in request.outcomes
            )
        except StoreFailed as error:
            return request.failed(Failure.of("bus", f"A trace could not be read: {error}"))
        except AgentFailed as failure:
            return request.failed(_failure("Grading", failure, graders.use()))
        return RunGraded(
            validation_id=request.validation_id,
            step_id=request.step_id,
            attempt=request.attempt,
            grades=tuple(grades),
            model=graders.use(),
        )

    async def _grade(self, graders: Graders, task: Task, outcome: TaskOutcome) -> Grade:
        trace = await self.traces.get(outcome.trace_key)
        checks = outcome.checks
        drafts = await together(
            settled_draft(
                graders.open(task, trace, checks),
                lambda draft: draft_problems(draft, trace, checks),
                tries=GRADE_TRIES,
            )
            for _ in range(self.samples)
        )
        return settle(drafts, task_id=task.task_id, trace=trace, checks=checks)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteReport:
    """Writes the words that go beside a report's numbers."""

    agents: Agents

    async def __call__(self, request: ReportRequested) -> Result:
        session = self.agents.reporter(request.report, tokens=request.token_budget)
        try:
            draft = await settled_draft(
                session,
                lambda prose: prose_problems(prose, request.report),
                tries=REPORT_TRIES,
            )
        except AgentFailed as failure:
            return request.failed(_failure("Report", failure, session.use()))
        return ReportWritten(
            validation_id=request.validation_id,
            step_id=request.step_id,
            attempt=request.attempt,
            prose=as_prose(draft),
            model=session.use(),
        )


def _failure(work: str, failure: AgentFailed, use: ModelUse) -> Failure:
    return Failure.of(failure.category, f"{work}: {failure.reason}", tokens=use.tokens)


def secret_of(skill: SkillFiles) -> Secret:
    """What tasks for this skill must not say."""
    return Secret(
        skill_name=skill.name,
        description=parse_skill(skill.skill_md).description,
        paths=skill.paths,
    )
