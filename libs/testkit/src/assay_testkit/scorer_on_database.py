"""The scorer on a database, for tests that need no bus and no workers."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import TypeVar, cast
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from assay_contracts.base import Message, Model, Result, Work
from assay_contracts.full_tests import (
    FullTestCompleted,
    FullTestView,
    GetFullTest,
    StartFullTest,
)
from assay_contracts.rpc import (
    GetSkill,
    Problem,
    ProblemError,
    RegisterReply,
    RegisterSkill,
    Rpc,
)
from assay_contracts.topology import asked_as
from assay_contracts.validations import ValidationProgressed
from assay_scorer import handlers
from assay_scorer.adapters.idempotency import PostgresAnswers
from assay_scorer.adapters.outbox import PostgresOutbox
from assay_scorer.adapters.records import PostgresRecords
from assay_scorer.adapters.uploads import PostgresUploads
from assay_scorer.domain.admission import AdmissionRules
from assay_scorer.domain.validation import Validation
from assay_scorer.domain.work import open_work
from assay_scorer.ports.reports import Reports
from assay_scorer.ports.timing import Clock, Wake
from assay_scorer.use_cases.admission import AdmitQueued, StartQueued
from assay_scorer.use_cases.announcing import Announce
from assay_scorer.use_cases.conducting import Advance, Conduct, KeepReport
from assay_scorer.use_cases.full_tests import EndAbandonedTests
from assay_scorer.use_cases.runtime_versions import AskToKeepVersions
from assay_servicekit.bus import Bus
from assay_testkit.scorer import an_upload, approval_of, started, well_done

R = TypeVar("R", bound=Model)


class ReportsInMemory:
    """Implements the scorer's `ports.reports.Reports`."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    async def keep(self, key: str, content: bytes) -> None:
        self.kept[key] = content


class SilentAnnouncer:
    """An announcer nobody listens to."""

    async def announce(self, message: Message) -> None:
        pass

    def wake(self) -> None:
        pass


class SettableClock:
    """The real time, and as much later as it is told to be."""

    def __init__(self) -> None:
        self.ahead = timedelta(0)

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead


def _nobody() -> None:
    pass


class HandlerTable:
    """Stands in for the bus: remembers what answers what."""

    def __init__(self) -> None:
        self.handlers: dict[type[Message], Callable[[Message], Awaitable[Model | None]]] = {}

    def on_fact(
        self, message: type[Message], handle: Callable[[Message], Awaitable[Model | None]]
    ) -> None:
        self.handlers[message] = handle

    on_live = on_fact
    on_question = on_fact


class Scorer:
    """All that the scorer hears, answered on a database, without a bus and without workers.

    Args:
        engine: the database, with all tables.
        records: instead of the plain ones.
        reports: instead of memory.
        clock: instead of the real one.
        max_active: validations under way at once.
        max_full_test_skills: skills of a full test under way at once.
        wake_retention: called when there is something to clear.
    """

    def __init__(
        self,
        engine: AsyncEngine,
        *,
        records: PostgresRecords | None = None,
        reports: Reports | None = None,
        clock: Clock = lambda: datetime.now(UTC),
        max_active: int = 5,
        max_full_test_skills: int = 5,
        wake_retention: Wake = _nobody,
    ) -> None:
        self.clock = clock
        self.records = records = records or PostgresRecords(engine)
        rules = AdmissionRules(
            max_active=max_active,
            max_full_test_skills=max_full_test_skills,
            # Made-up results rest on nothing that a test could change.
            regression_mode="all",
        )
        announce = Announce(announcer=SilentAnnouncer())
        admit = AdmitQueued(clock=clock, rules=rules)
        keep_report = KeepReport(reports=reports or ReportsInMemory(), signer=None)
        advance = Advance(keep_report=keep_report, admit=admit, clock=clock)
        self.start_queued = StartQueued(records=records, admit=admit, announce=announce)
        self.conduct = Conduct(records=records, advance=advance, announce=announce)
        self.end_abandoned_tests = EndAbandonedTests(full_tests=records, conduct=self.conduct)
        self.ask_to_keep_versions = AskToKeepVersions(
            versions=records, records=records, announce=announce, clock=clock
        )
        self._outbox = PostgresOutbox(engine)
        self._table = HandlerTable()
        handlers.register(
            cast("Bus", self._table),
            handlers.Parts(
                records=records,
                uploads=PostgresUploads(engine),
                answers=PostgresAnswers(engine),
                work=self._outbox,
                clock=clock,
                announce=announce,
                advance=advance,
                conduct=self.conduct,
                wake_admission=_nobody,
                wake_test_ending=_nobody,
                wake_retention=wake_retention,
            ),
        )

    async def ask(self, question: Rpc[R]) -> R:
        """The answer. Raises ProblemError, Unavailable."""
        return cast("R", await self._table.handlers[type(question)](question))

    async def take(self, said: Result | ValidationProgressed) -> None:
        """Take in what a worker said that had the work. Raises Unavailable."""
        if isinstance(said, Result) and said.work_id is None:
            asked = await self._outbox.message_ids(asked_as(said))
            said = said.model_copy(update={"work_id": next(iter(asked), None)})
        await self._table.handlers[type(said)](said)

    # -- what tests do with them ----------------------------------------------------------------

    async def stored(self, validation_id: UUID) -> Validation:
        """A validation that is there."""
        validation = await self.records.validation(validation_id)
        assert validation is not None
        return validation

    async def open_work(self, validation_id: UUID) -> tuple[Work, ...]:
        """Everything that was asked for and is not answered."""
        validation = await self.records.validation(validation_id)
        return open_work(validation) if validation else ()

    async def run_to_the_end(self, validation_id: UUID, **grades: int) -> None:
        """Answer all work well, with these grades for the tasks of a skill of that name."""
        while work := await self.open_work(validation_id):
            grade = grades.get(work[0].skill_name.replace("-", "_"), 5)
            await self.take(well_done(work[0], grade=grade))

    async def only_work(self, validation_id: UUID) -> Work:
        """The one thing that was asked for and is not answered."""
        (work,) = await self.open_work(validation_id)
        return work

    async def upload(self, upload: RegisterSkill) -> RegisterReply:
        """Register an upload and start it if there is room, as the running service does."""
        reply = await self.ask(upload)
        await self.start_queued()
        return reply

    async def uploaded(self, name: str) -> RegisterReply:
        """A new skill whose validation has started, if there is room."""
        return await self.upload(an_upload(name))

    async def validated(self, name: str) -> RegisterReply:
        """A new skill that passed."""
        reply = await self.uploaded(name)
        await self.run_to_the_end(started(reply))
        return reply

    async def approved(self, name: str) -> RegisterReply:
        """A new skill that passed and was approved by ann."""
        reply = await self.validated(name)
        await self.ask(approval_of(reply))
        return reply

    async def fail(self, reply: RegisterReply) -> None:
        """Take its validation to a failed end, which rejects the skill."""
        for grade in (5, 5, 1, 5):
            await self.take(well_done(await self.only_work(started(reply)), grade=grade))

    async def status_of(self, skill_id: UUID) -> str:
        return (await self.ask(GetSkill(skill_id=skill_id))).status

    async def started_full_test(self) -> FullTestView:
        """A full test by ann, under way as far as there is room."""
        view = await self.ask(StartFullTest(actor="ann"))
        await self.start_queued()
        return await self.ask(GetFullTest(full_test_id=view.full_test_id))

    async def finished_full_test(self, full_test_id: UUID) -> FullTestView:
        """Answer all work of a full test well, those under way in turn."""
        while True:
            view = await self.ask(GetFullTest(full_test_id=full_test_id))
            work = [
                each for skill in view.skills for each in await self.open_work(skill.validation_id)
            ]
            if not work:
                return view
            for each in work:
                await self.take(well_done(each))


async def said(engine: AsyncEngine, subject: str) -> list[str]:
    """The bodies of everything put into the outbox for this subject, in order."""
    async with engine.connect() as connection:
        rows = await connection.execute(
            text("select body from outbox where subject = :subject order by id"),
            {"subject": subject},
        )
        return [row.body for row in rows]


async def full_test_completions(engine: AsyncEngine) -> list[FullTestCompleted]:
    bodies = await said(engine, FullTestCompleted.SUBJECT)
    return [FullTestCompleted.model_validate_json(body) for body in bodies]


async def refusal_of(attempt: Awaitable[object]) -> Problem:
    """Why it was refused; it is an error if it was not."""
    try:
        await attempt
    except ProblemError as error:
        return error.problem
    raise AssertionError("it was not refused")


async def refusal_code(attempt: Awaitable[object]) -> str:
    """As `refusal_of`, in a word."""
    return (await refusal_of(attempt)).code
