"""Use cases: each takes in one fact or question, in one transaction."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from assay_contracts.base import Message, Result
from assay_contracts.reports import DependencyMode
from assay_contracts.rpc import (
    BundleView,
    GetBundle,
    GetReport,
    GetSkill,
    GetStatus,
    ListSkills,
    ListValidations,
    PingRecords,
    Pong,
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
from assay_scorer.domain.conductor import decide
from assay_scorer.domain.decisions import Decision, Outgoing
from assay_scorer.domain.inputs import Admitted, ConductorInput
from assay_scorer.domain.markdown import render_markdown
from assay_scorer.domain.report import build_report, report_ref
from assay_scorer.domain.work import clean_up_again
from assay_scorer.ports import Announcer, Records, Reports, Transaction
from assay_scorer.settling import clean_up_after_deletion, settle
from assay_servicekit.telemetry import resumed

Clock = Callable[[], datetime]
SHOWN_LIVE: Final = 500
"""Characters of a reason that live progress has room for."""
CLEANUP_TRIES: Final = 20
FIRST_CLEANUP_PAUSE: Final = timedelta(minutes=1)
LONGEST_CLEANUP_PAUSE: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conduct:
    """Takes a fact about one validation through the conductor and stores what it decides."""

    records: Records
    reports: Reports
    announcer: Announcer
    clock: Clock
    max_active: int
    max_full_test_skills: int = 5
    """Apart from `max_active`: a fresh upload never waits behind a full test."""
    token_budget: int | None = None
    """What models may use for one validation; none means no bound."""
    dependency_mode: DependencyMode = "lenient"

    async def __call__(self, validation_id: UUID, fact: ConductorInput) -> None:
        """Raises Unavailable; the fact is then to be tried again."""
        async with self.records.transaction() as transaction:
            news = await self.within(transaction, validation_id, fact)
        await self.tell(news)

    async def within(
        self, transaction: Transaction, validation_id: UUID, fact: ConductorInput
    ) -> tuple[Message, ...]:
        """Take the fact in; what is returned is to be told once the transaction is through."""
        validation = await transaction.locked(validation_id)
        now = self.clock()
        if validation is None:
            await clean_up_after_deletion(transaction, validation_id, fact, now)
            return ()
        decision = decide(validation, fact, now)
        if decision.validation == validation:
            # Its skill may have moved on since: there is nothing to store.
            await transaction.say(decision.outgoing, now)
            return (_progress(decision),) if decision.outgoing else ()
        if decision.validation.step == "done" != validation.step:
            # The report is there before anybody is told of it.
            await self._keep_report(decision)
        await transaction.store(decision, now)
        news: list[Message] = [_progress(decision)]
        if decision.validation.step == "done":
            if decision.validation.is_full_test:
                news.append(await settle(transaction, decision.validation, now))
            news += await self.admit(transaction)
        return tuple(news)

    async def admit(self, transaction: Transaction) -> tuple[Message, ...]:
        """Start the oldest queued validations for which there is room, full tests apart."""
        now = self.clock()
        queued = await transaction.admissible(self.max_active, self.max_full_test_skills)
        if not queued:
            return ()
        admitted = Admitted(
            token_budget=self.token_budget,
            environment=await transaction.environment(),
            dependency_mode=self.dependency_mode,
        )
        decisions = [decide(validation, admitted, now) for validation in queued]
        for decision in decisions:
            with resumed(decision.validation.traceparent):
                await transaction.store(decision, now)
        return tuple(_progress(decision) for decision in decisions)

    async def start_queued(self) -> None:
        """As `admit`, in a transaction of its own. Raises Unavailable."""
        async with self.records.transaction() as transaction:
            news = await self.admit(transaction)
        await self.tell(news)

    async def tell(self, news: tuple[Message, ...]) -> None:
        """Wake the outbox and let listeners know how far things are."""
        if news:
            self.announcer.wake()
        for each in news:
            await self.announcer.announce(each)

    async def _keep_report(self, decision: Decision) -> None:
        report = build_report(decision.validation)
        where = report_ref(report.skill_id, report.validation_id)
        await self.reports.keep(where.json_key, report.model_dump_json(indent=2).encode())
        await self.reports.keep(where.markdown_key, render_markdown(report).encode())


def _progress(decision: Decision) -> ValidationProgressed:
    validation = decision.validation
    return ValidationProgressed(
        validation_id=validation.validation_id,
        skill_id=validation.skill_id,
        step=validation.step,
        detail=(validation.reason or validation.step.replace("_", " "))[:SHOWN_LIVE],
        tasks_done=validation.tasks_done,
        tasks_total=validation.tasks_total,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeResult:
    """Takes in what a worker said about a step of a validation."""

    conduct: Conduct

    async def __call__(self, result: Result) -> None:
        if isinstance(result, CleanupFinished):
            await self._see_to_cleanup(result)
        else:
            assert isinstance(result, ConductorInput)
            await self.conduct(result.validation_id, result)

    async def _see_to_cleanup(self, result: CleanupFinished) -> None:
        """Ask again for what was not deleted: what was once kept has no time to live."""
        if result.failure is None or result.attempt >= CLEANUP_TRIES:
            return
        pause = min(FIRST_CLEANUP_PAUSE * 2 ** (result.attempt - 1), LONGEST_CLEANUP_PAUSE)
        async with self.conduct.records.transaction() as transaction:
            asked = await transaction.cleanup_asked(result.step_id, result.attempt)
            if asked is not None:
                again = Outgoing(clean_up_again(asked), pause)
                await transaction.say([again], self.conduct.clock())


@dataclass(frozen=True, slots=True, kw_only=True)
class Register:
    """Records a checked upload and queues its validation, if one is to start.

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
        if reply.validation_id is not None:
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

    async def ping(self, _: PingRecords) -> Pong:
        """Raises Unavailable when the database does not answer."""
        await self.records.ping()
        return Pong()

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
            # It may have been uploaded without being validated.
            await self.status(GetStatus(skill_id=query.skill_id))
        return history

    async def report(self, query: GetReport) -> ReportView:
        """Raises ProblemError SKILL_NOT_FOUND, NOT_FOUND or VALIDATION_NOT_COMPLETED."""
        found = await self.records.report(query.skill_id, query.validation_id)
        if found is not None:
            return ReportView(skill_id=query.skill_id, validation_id=found[0], report=found[1])
        status = await self.status(GetStatus(skill_id=query.skill_id))
        if query.validation_id not in {None, status.validation_id}:
            raise ProblemError(
                Problem(
                    code="NOT_FOUND",
                    message=f"'{status.name}' has no validation {query.validation_id}. "
                    "List its validations to see the ids there are.",
                    details=ProblemDetails(skill_id=query.skill_id),
                )
            )
        why = (
            "it has not been validated. Validate it first."
            if status.step is None
            else f"its validation is at {status.step.replace('_', ' ')}. "
            "Ask again when it has ended."
        )
        raise ProblemError(
            Problem(
                code="VALIDATION_NOT_COMPLETED",
                message=f"There is no report on '{status.name}' yet: {why}",
                details=ProblemDetails(skill_id=query.skill_id),
            )
        )

    async def bundle(self, query: GetBundle) -> BundleView:
        """Raises ProblemError SKILL_NOT_FOUND."""
        bundle = await self.records.bundle(query.skill_id)
        if bundle is None:
            raise not_found(query.skill_id)
        return bundle


def not_found(skill_id: UUID) -> ProblemError:
    """Nobody has this id."""
    return ProblemError(
        Problem(
            code="SKILL_NOT_FOUND",
            message=f"No skill has the id {skill_id}. List the skills to see the ids there are.",
            details=ProblemDetails(skill_id=skill_id),
        )
    )
