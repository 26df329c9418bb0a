"""Use cases: each takes in one fact or question, in one transaction."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from assay_contracts.base import Result
from assay_contracts.rpc import (
    GetReport,
    GetSkill,
    GetStatus,
    ListSkills,
    ListValidations,
    Problem,
    ProblemDetails,
    ProblemError,
    RegisterReply,
    RegisterSkill,
    ReportView,
    SkillDetail,
    SkillPage,
    SkillStatusView,
    ValidationHistory,
)
from assay_contracts.validations import CleanupFinished, ValidationProgressed
from assay_scorer.domain.conductor import Admitted, Decision, Fact, decide
from assay_scorer.domain.markdown import render_markdown
from assay_scorer.domain.report import build_report, report_ref
from assay_scorer.ports import Announcer, Records, Reports, Transaction
from assay_servicekit.telemetry import resumed

Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conduct:
    """Takes a fact about one validation through the conductor and stores what it decides."""

    records: Records
    reports: Reports
    announcer: Announcer
    clock: Clock
    max_active: int
    token_budget: int | None = None
    """What models may use for one validation; none means no bound."""

    async def __call__(self, validation_id: UUID, fact: Fact) -> None:
        """Raises Unavailable; the fact is then to be tried again."""
        async with self.records.transaction() as transaction:
            decisions = await self.within(transaction, validation_id, fact)
        await self.tell(decisions)

    async def within(
        self, transaction: Transaction, validation_id: UUID, fact: Fact
    ) -> tuple[Decision, ...]:
        """Take the fact in; what was decided is to be told once the transaction is through."""
        validation = await transaction.locked(validation_id)
        if validation is None:
            return ()
        now = self.clock()
        decision = decide(validation, fact, now)
        if decision.validation == validation:
            # Its skill may have moved on since: there is nothing to store.
            await transaction.say(decision.outgoing, now)
            return (decision,) if decision.outgoing else ()
        if decision.validation.step == "done" != validation.step:
            # The report is there before anybody is told of it.
            await self._keep_report(decision)
        await transaction.store(decision, now)
        started = await self.admit(transaction) if decision.validation.step == "done" else ()
        return (decision, *started)

    async def admit(self, transaction: Transaction) -> tuple[Decision, ...]:
        """Start the oldest queued validations for which there is room."""
        now = self.clock()
        queued = await transaction.admissible(self.max_active)
        if not queued:
            return ()
        admitted = Admitted(
            token_budget=self.token_budget, environment=await transaction.environment()
        )
        decisions = [decide(validation, admitted, now) for validation in queued]
        for decision in decisions:
            with resumed(decision.validation.traceparent):
                await transaction.store(decision, now)
        return tuple(decisions)

    async def start_queued(self) -> None:
        """As `admit`, in a transaction of its own. Raises Unavailable."""
        async with self.records.transaction() as transaction:
            started = await self.admit(transaction)
        await self.tell(started)

    async def tell(self, decisions: tuple[Decision, ...]) -> None:
        """Wake the outbox and let listeners know how far these validations are."""
        if decisions:
            self.announcer.wake()
        for decision in decisions:
            await self.announcer.announce(_progress(decision))

    async def _keep_report(self, decision: Decision) -> None:
        report = build_report(decision.validation)
        where = report_ref(decision.validation)
        await self.reports.keep(where.json_key, report.model_dump_json(indent=2).encode())
        await self.reports.keep(where.markdown_key, render_markdown(report).encode())


def _progress(decision: Decision) -> ValidationProgressed:
    validation = decision.validation
    return ValidationProgressed(
        validation_id=validation.validation_id,
        skill_id=validation.skill_id,
        step=validation.step,
        detail=validation.reason or validation.step.replace("_", " "),
        tasks_done=validation.tasks_done,
        tasks_total=validation.tasks_total,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeResult:
    """Takes in what a worker said about a step of a validation."""

    conduct: Conduct

    async def __call__(self, result: Result) -> None:
        if not isinstance(result, CleanupFinished):
            assert isinstance(result, Fact)
            await self.conduct(result.validation_id, result)


@dataclass(frozen=True, slots=True, kw_only=True)
class Register:
    """Records a checked upload and queues its validation.

    Starting it is left to `start_soon`: whether there is room is found out one at a time, and
    uploads need not wait in that line.
    """

    conduct: Conduct
    start_soon: Callable[[], None]

    async def __call__(self, upload: RegisterSkill) -> RegisterReply:
        """Raises ProblemError when the name is in use, Unavailable when the database is down."""
        reply = await self.conduct.records.register(upload, self.conduct.clock())
        # The outbox is not woken: `skill.uploaded` goes out within a second, and nobody waits for
        # it, while somebody waits for this answer.
        self.start_soon()
        return reply


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteProgress:
    records: Records

    async def __call__(self, progress: ValidationProgressed) -> None:
        await self.records.note_progress(
            progress.validation_id, progress.detail, progress.tasks_done, progress.tasks_total
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Answers questions about the records."""

    records: Records

    async def skills(self, query: ListSkills) -> SkillPage:
        return await self.records.skills(query)

    async def skill(self, query: GetSkill) -> SkillDetail:
        """Raises ProblemError SKILL_NOT_FOUND."""
        skill = await self.records.skill(query.skill_id)
        if skill is None:
            raise not_found(query.skill_id)
        return skill

    async def status(self, query: GetStatus) -> SkillStatusView:
        """Raises ProblemError SKILL_NOT_FOUND."""
        status = await self.records.status(query.skill_id)
        if status is None:
            raise not_found(query.skill_id)
        return status

    async def validations(self, query: ListValidations) -> ValidationHistory:
        """Raises ProblemError SKILL_NOT_FOUND."""
        history = await self.records.validations(query)
        if not history.total:
            raise not_found(query.skill_id)
        return history

    async def report(self, query: GetReport) -> ReportView:
        """Raises ProblemError SKILL_NOT_FOUND or VALIDATION_NOT_COMPLETED."""
        found = await self.records.report(query.skill_id)
        if found is not None:
            return ReportView(skill_id=query.skill_id, validation_id=found[0], report=found[1])
        status = await self.status(GetStatus(skill_id=query.skill_id))
        raise ProblemError(
            Problem(
                code="VALIDATION_NOT_COMPLETED",
                message=(
                    f"There is no report on '{status.name}' yet: its validation is at "
                    f"{(status.step or 'queued').replace('_', ' ')}. Ask again when it has ended."
                ),
                details=ProblemDetails(skill_id=query.skill_id),
            )
        )


def not_found(skill_id: UUID) -> ProblemError:
    """Nobody has this id."""
    return ProblemError(
        Problem(
            code="SKILL_NOT_FOUND",
            message=f"No skill has the id {skill_id}. List the skills to see the ids there are.",
            details=ProblemDetails(skill_id=skill_id),
        )
    )
