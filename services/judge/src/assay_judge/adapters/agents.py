"""The judge's agents on deepagents: one graph, and a job for each piece of work."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from pydantic import BaseModel

from assay_agentkit.agents import Agent, failed_by, run_agent
from assay_agentkit.bounds import Bounds
from assay_agentkit.meter import ModelMeter
from assay_contracts.base import ModelUse, Role
from assay_contracts.reports import Report
from assay_contracts.runs import JudgeTrace, RunKind
from assay_judge.adapters.assignments import CURRENT_ASSIGNMENT, CURRENT_JOB, Assignment, Job
from assay_judge.adapters.directing import unfinished
from assay_judge.adapters.files import ReadOnlyFiles
from assay_judge.adapters.graph import (
    GRADER_PROMPT,
    PLANNER_PROMPT,
    REPORTER_PROMPT,
    build_graph,
)
from assay_judge.adapters.requests import (
    grading_request,
    outlines_request,
    preparing_request,
    reporting_request,
    skill_request,
)
from assay_judge.adapters.work_files import WorkFiles
from assay_judge.domain.drafts import TaskDraft, TaskOutlines
from assay_judge.domain.grading import GradeDraft
from assay_judge.domain.material import readable_files
from assay_judge.domain.prose import ProseDraft
from assay_judge.domain.skill_material import readable_skill
from assay_judge.ports import PlanningBrief, ProblemsOf, ProblemsOfTask, Workbench, WorkToGrade

D = TypeVar("D", bound=BaseModel)
A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class NamedModel:
    """A model and how reports call it."""

    chat: BaseChatModel
    label: str
    sees_pictures: bool = False
    """Whether it may be shown images."""


@dataclass(slots=True, kw_only=True)
class RunningJob(Generic[A]):
    """One job on the graph."""

    graph: Agent
    job: Job
    bounds: Bounds
    role: Role
    model: str
    prompt_version: str
    answer: Callable[[], A]

    async def done(self) -> A:
        """Raises AgentFailed."""
        job = self.job
        CURRENT_JOB.set(job)
        CURRENT_ASSIGNMENT.set(job.own)
        request = str(job.own.request) if job.own else "Hand out what there is to do."
        run = await run_agent(
            self.graph,
            [HumanMessage(request)],
            bounds=self.bounds,
            answers_with=BaseModel,
            callbacks=[job.meter],
        )
        if run.stopped_by is not None:
            raise failed_by(run.stopped_by, self.bounds)
        for assignment in job.all_assignments():
            if assignment.accepted is None:
                raise unfinished(assignment, self.bounds.model_calls)
        return self.answer()

    def use(self) -> ModelUse:
        return self.job.meter.use(
            role=self.role, model=self.model, prompt_version=self.prompt_version
        )

    def trace(self) -> JudgeTrace:
        return self.job.trace()


@dataclass(slots=True, kw_only=True)
class DeepAgents:
    """Gives work to the judge's agents."""

    planner_model: NamedModel
    grader_model: NamedModel
    reporter_model: NamedModel
    workbench: Workbench
    bounds: Bounds
    _graph: Agent | None = field(default=None, init=False)

    def planning(
        self,
        brief: PlanningBrief,
        *,
        outline_problems: ProblemsOf[TaskOutlines],
        task_problems: ProblemsOfTask,
        tokens: int | None,
    ) -> RunningJob[TaskOutlines]:
        skill, texts = skill_request(brief), readable_skill(brief.skill)
        own = Assignment(
            agent="judge",
            about="outlines",
            request=skill + outlines_request(brief),
            files=ReadOnlyFiles(texts),
            problems_of=_checked(TaskOutlines, outline_problems),
        )

        def preparing(number: int, request: str) -> Assignment:
            files = WorkFiles(texts, self.workbench)

            async def problems_of(draft: BaseModel) -> Sequence[str]:
                assert isinstance(draft, TaskDraft)
                return await task_problems(
                    number, draft, files.made, is_last_try=assignment.is_last_try
                )

            assignment = Assignment(
                agent="task-preparer",
                about=f"task {number}",
                request=request,
                files=files,
                problems_of=problems_of,
            )
            return assignment

        def follow_up(draft: BaseModel) -> Sequence[Assignment]:
            assert isinstance(draft, TaskOutlines)
            return [
                preparing(number, skill + preparing_request(brief, outline, number=number))
                for number, outline in enumerate(draft.outlines, start=1)
            ]

        job = self._job(tokens)
        job.own, job.follow_up = own, follow_up
        return self._running(
            job, "planner", self.planner_model, PLANNER_PROMPT, lambda: _accepted(own, TaskOutlines)
        )

    def grading(
        self, run_kind: RunKind, works: Sequence[WorkToGrade], *, tokens: int | None
    ) -> RunningJob[Sequence[GradeDraft]]:
        sees = self.grader_model.sees_pictures
        job = self._job(tokens)
        job.assignments += [
            Assignment(
                agent="grader",
                about=f"task {work.task.task_id}",
                request=grading_request(work, run_kind, with_pictures=sees),
                files=ReadOnlyFiles(readable_files(work.task, work.trace)),
                problems_of=_checked(GradeDraft, work.problems_of),
            )
            for work in works
        ]
        return self._running(
            job,
            "grader",
            self.grader_model,
            GRADER_PROMPT,
            lambda: [_accepted(each, GradeDraft) for each in job.assignments],
        )

    def reporting(
        self, report: Report, *, problems_of: ProblemsOf[ProseDraft], tokens: int | None
    ) -> RunningJob[ProseDraft]:
        job = self._job(tokens)
        asked = Assignment(
            agent="reporter",
            about="report",
            request=reporting_request(report),
            files=ReadOnlyFiles({}),
            problems_of=_checked(ProseDraft, problems_of),
        )
        job.assignments.append(asked)
        return self._running(
            job, "reporter", self.reporter_model, REPORTER_PROMPT,
            lambda: _accepted(asked, ProseDraft),
        )  # fmt: skip

    def _job(self, tokens: int | None) -> Job:
        return Job(meter=ModelMeter(), tokens=tokens, seconds=self.bounds.seconds)

    def _running(
        self, job: Job, role: Role, model: NamedModel, prompt_version: str, answer: Callable[[], A]
    ) -> RunningJob[A]:
        # An outline and what is made of it are two answers, one after the other.
        bounds = replace(self.bounds, seconds=2 * self.bounds.seconds, tokens=job.tokens)
        return RunningJob(
            graph=self._built(),
            job=job,
            bounds=bounds,
            role=role,
            model=model.label,
            prompt_version=prompt_version,
            answer=answer,
        )

    def _built(self) -> Agent:
        if self._graph is None:
            self._graph = build_graph(
                planner=self.planner_model.chat,
                grader=self.grader_model.chat,
                reporter=self.reporter_model.chat,
                bounds=self.bounds,
            )
        return self._graph


def _checked(
    answers_with: type[D], problems_of: ProblemsOf[D]
) -> Callable[[BaseModel], Awaitable[Sequence[str]]]:
    async def problems(draft: BaseModel) -> Sequence[str]:
        assert isinstance(draft, answers_with)
        return problems_of(draft)

    return problems


def _accepted(assignment: Assignment, answers_with: type[D]) -> D:
    assert isinstance(assignment.accepted, answers_with)
    return assignment.accepted
