"""The use cases on a real database, whatever happens: in any order, twice, lost, crashed."""

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, get_args
from uuid import UUID

from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from nats.errors import Error as NatsError
from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import AsyncEngine

from assay_contracts.base import Result, Work
from assay_contracts.full_tests import (
    CancelFullTest,
    FullTestCompleted,
    ListFullTests,
    StartFullTest,
)
from assay_contracts.review import ApproveSkill, DeleteSkill, RejectSkill, RevalidateSkill
from assay_contracts.rpc import ProblemError
from assay_contracts.runs import RunFinished
from assay_contracts.validations import CleanupRequested, KeepRequested, ValidationCompleted
from assay_scorer.adapters.database import open_engine
from assay_scorer.adapters.outbox import PostgresOutbox
from assay_scorer.domain.inputs import DeadlinePassed, WentQuiet
from assay_scorer.workers.outbox_relay import OutboxRelay
from assay_testkit.scorer import an_upload, gone_wrong, well_done
from assay_testkit.scorer_crashes import BreakingBus, ClockBehind, CrashError, CrashingRecords
from assay_testkit.scorer_on_database import Scorer

MAX_ACTIVE = 2
MAX_FULL_TEST_SKILLS = 2
NAMES = ("alpha", "beta", "gamma", "delta")
Kind = Literal[
    "upload", "relay", "work", "fail", "lose", "hear", "hear again", "wait", "approve", "reject",
    "revalidate", "delete", "full test", "cancel full test", "reconcile",
]  # fmt: skip
OFTEN: Final[tuple[Kind, ...]] = ("relay", "work", "work", "hear", "hear", "hear")
SELDOM: Final[tuple[Kind, ...]] = get_args(Kind)


@dataclass(frozen=True)
class Event:
    """Something that happens; `which` of the things it may happen to."""

    kind: Kind
    which: int
    crash_after: int | None
    """So many steps, if at all: most use cases have fewer than ten."""


EVENTS: Final = st.lists(
    st.builds(
        Event,
        kind=st.sampled_from(OFTEN) | st.sampled_from(SELDOM),
        which=st.integers(0, 9),
        crash_after=st.none() | st.none() | st.integers(1, 9),
    ),
    min_size=40,
    max_size=60,
)


class World:
    """Uploads, workers that answer in any order, admins, and a scorer that keeps dying."""

    def __init__(self, runner: asyncio.Runner, engine: AsyncEngine) -> None:
        self.runner = runner
        self.engine = engine
        self.clock = ClockBehind()
        self.bus = BreakingBus()
        self.answered: set[str] = set()
        self.facts: list[Result] = []
        self.heard: list[Result] = []
        self.snapshots: set[str] = set()
        self.runner.run(self._begin())

    async def _begin(self) -> None:
        """Nothing is recorded but one approved skill and one upload of each other name."""
        async with self.engine.begin() as connection:
            await connection.execute(
                text(
                    "truncate skills, revisions, validations, environments, outbox, audit_log,"
                    " full_tests, full_test_skills cascade"
                )
            )
            await connection.execute(text("delete from runtime_versions where number > 0"))
            await connection.execute(text("update runtime_versions set current = true"))
        await self._upload(NAMES[0], None)
        await self._to_rest()
        await self._review(NAMES[0], "approve", None)
        for name in NAMES[1:]:
            await self._upload(name, None)

    def scorer(self, crash_after: int | None = None) -> Scorer:
        return Scorer(
            self.engine,
            records=CrashingRecords(self.engine, crash_after),
            clock=self.clock,
            max_active=MAX_ACTIVE,
            max_full_test_skills=MAX_FULL_TEST_SKILLS,
        )

    def relay(self) -> OutboxRelay:
        outbox = PostgresOutbox(self.engine)
        return OutboxRelay(outbox=outbox, bus=self.bus, clock=lambda: datetime.now(UTC))

    # -- what happens ---------------------------------------------------------------------------

    def happens(self, event: Event) -> None:
        """To a process that may die of it: only the database and the bus remain."""
        with suppress(CrashError, ProblemError, NatsError):
            self.runner.run(self._happens(event))

    async def _happens(self, event: Event) -> None:
        which, crash = event.which, event.crash_after
        match event.kind:
            case "upload":
                await self._upload(NAMES[which % len(NAMES)], crash)
            case "relay":
                self.bus.words_left = crash
                await self.relay().relay()
            case "work":
                self._work(which, lambda work: well_done(work, grade=1 if which == 0 else 5))
            case "fail":
                failures = ("sandbox", "worker_died", "handed_over")
                self._work(which, lambda work: gone_wrong(work, failures[which % 3]))
            case "lose":
                await self._lose(which, crash)
            case "hear" | "hear again":
                await self._hear(self.facts if event.kind == "hear" else self.heard, which, crash)
            case "wait":
                await self._wait(timedelta(minutes=which), crash)
            case "full test" | "cancel full test" | "reconcile":
                await self._full_test(event.kind, self.scorer(crash))
            case _:
                await self._review(NAMES[which % len(NAMES)], event.kind, crash)

    async def _upload(self, name: str, crash: int | None) -> None:
        scorer = self.scorer(crash)
        await scorer.ask(an_upload(name))
        await scorer.start_queued()

    async def _full_test(self, action: Kind, scorer: Scorer) -> None:
        if action == "full test":
            await scorer.ask(StartFullTest(actor="ann"))
        elif action == "cancel full test":
            for each in (await scorer.ask(ListFullTests())).full_tests[:1]:
                cancel = CancelFullTest(full_test_id=each.full_test_id, actor="ann")
                await scorer.ask(cancel)
        else:
            await scorer.end_abandoned_tests()
        await scorer.start_queued()

    def _work(self, which: int, answer: Callable[[Work], Result]) -> None:
        """Some worker answers what it was asked."""
        if asked := self._asked():
            self._say(answer(asked[which % len(asked)]))

    def _say(self, result: Result) -> None:
        self.answered.add(f"{result.step_id}:{result.attempt}")
        if isinstance(result, RunFinished) and result.candidate:
            self.snapshots.add(result.candidate)
        self.facts.append(result)

    def _asked(self) -> list[Work]:
        return [
            message
            for message in self.bus.said.values()
            if isinstance(message, Work)
            and not isinstance(message, CleanupRequested | KeepRequested)
            and f"{message.step_id}:{message.attempt}" not in self.answered
        ]

    async def _hear(self, facts: list[Result], which: int, crash: int | None) -> None:
        """A fact that is not taken in to the end stays on the bus."""
        if facts:
            fact = facts[which % len(facts)]
            await self.scorer(crash).take(fact)
            facts.remove(fact)
            self.heard.append(fact)

    async def _lose(self, which: int, crash: int | None) -> None:
        """The bus forgets some work; somebody notices that it went quiet."""
        if asked := self._asked():
            work = asked[which % len(asked)]
            quiet = WentQuiet(step_id=work.step_id, attempt=work.attempt)
            await self.scorer(crash).conduct(work.validation_id, quiet)
            self.answered.add(f"{work.step_id}:{work.attempt}")

    async def _wait(self, time: timedelta, crash: int | None) -> None:
        self.clock.now += time
        scorer = self.scorer(crash)
        for row in await self._rows():
            if row.step not in ("queued", "done"):
                await scorer.conduct(row.id, DeadlinePassed())

    async def _review(self, name: str, action: Kind, crash: int | None) -> None:
        skill_id = next((row.skill_id for row in await self._rows() if row.name == name), None)
        if skill_id is None:
            return
        scorer = self.scorer(crash)
        match action:
            case "approve":
                await scorer.ask(ApproveSkill(skill_id=skill_id, actor="ann"))
            case "reject":
                await scorer.ask(RejectSkill(skill_id=skill_id, actor="ann", reason="No."))
            case "revalidate":
                await scorer.ask(RevalidateSkill(skill_id=skill_id, actor="ann"))
            case _:
                await scorer.ask(DeleteSkill(skill_id=skill_id, actor="ann"))

    # -- what always holds ----------------------------------------------------------------------

    async def _rows(self) -> list[Row[tuple[object, ...]]]:
        async with self.engine.connect() as connection:
            rows = await connection.execute(
                text(
                    "select v.id, v.skill_id, s.name, s.status, v.kind, v.step, v.verdict,"
                    " v.queued_at,"
                    " v.document #>> '{online,candidate}' as candidate"
                    " from validations v join skills s on s.id = v.skill_id order by v.queued_at"
                )
            )
            return list(rows.all())

    def is_in_order(self) -> None:
        rows = self.runner.run(self._rows())
        active = Counter(
            row.kind == "full_test" for row in rows if row.step not in ("queued", "done")
        )
        assert active[False] <= MAX_ACTIVE
        assert active[True] <= MAX_FULL_TEST_SKILLS
        completed = self.runner.run(self._completed())
        assert all(count == 1 for count in completed.values())
        assert {row.id for row in rows if row.step == "done"} <= completed.keys()
        assert not completed.keys() & {row.id for row in rows if row.step != "done"}
        reviewed = [row for row in rows if row.kind != "full_test"]
        for row in {row.skill_id: row for row in reviewed}.values():
            assert row.status in _possible(row.step, row.verdict), row

    async def _completed(self) -> Counter[UUID]:
        """How often each validation was said to be completed, or is to be."""
        async with self.engine.connect() as connection:
            ids = await connection.scalars(
                text(
                    "select body::jsonb ->> 'validation_id' from outbox"
                    " where subject = 'validation.completed'"
                )
            )
            return Counter(map(UUID, ids))

    def ends_well(self) -> None:
        """Let the world come to rest: then everything has ended, and nothing is left over."""
        self.runner.run(self._to_rest())
        rows = self.runner.run(self._rows())
        assert all(row.step == "done" for row in rows)
        self.is_in_order()
        completions = [
            message.validation_id
            for message in self.bus.said.values()
            if isinstance(message, ValidationCompleted)
        ]
        assert Counter(completions) == self.runner.run(self._completed())
        ended = [
            message.full_test_id
            for message in self.bus.said.values()
            if isinstance(message, FullTestCompleted)
        ]
        assert Counter(ended) == Counter(self.runner.run(self._full_test_ids()))
        cleaned = {
            snapshot
            for message in self.bus.said.values()
            if isinstance(message, CleanupRequested)
            for snapshot in message.snapshots
        }
        owned = {
            row.candidate
            for row in rows
            if row.verdict == "passed" and row.status == "pending" and row.kind != "full_test"
        } | self.runner.run(self._kept())
        assert self.snapshots - cleaned <= owned

    async def _to_rest(self) -> None:
        scorer = self.scorer()
        self.bus.words_left = None
        relay = self.relay()
        while True:
            while await relay.relay():
                pass
            while self.facts:
                await self._hear(self.facts, 0, None)
            await scorer.end_abandoned_tests()
            await scorer.start_queued()
            rows = [row for row in await self._rows() if row.step != "done"]
            if not rows:
                break
            for row in rows:
                # What was lost or answered badly is asked for until it is answered well.
                for work in await scorer.open_work(row.id):
                    self._say(well_done(work))
        while await relay.relay():
            pass

    async def _full_test_ids(self) -> list[UUID]:
        """Every full test, all of which have ended."""
        async with self.engine.connect() as connection:
            rows = (await connection.execute(text("select id, completed_at from full_tests"))).all()
        assert all(row.completed_at is not None for row in rows)
        return [row.id for row in rows]

    async def _kept(self) -> set[str]:
        async with self.engine.connect() as connection:
            return set(
                await connection.scalars(
                    text("select snapshot from runtime_versions where available and number > 0")
                )
            )


def _possible(step: str, verdict: str | None) -> set[str]:
    """What a skill's status may be, by its newest validation."""
    if step == "queued":
        return {"pending"}
    if step != "done":
        return {"validating"}
    return {
        "passed": {"pending", "approved", "rejected", "rollback_pending"},
        "failed": {"rejected"},
        "inconclusive": {"pending", "rejected"},
    }[verdict or ""]


def test_whatever_happens_every_validation_ends_once_and_leaves_nothing(migrated_url: str) -> None:
    with asyncio.Runner() as runner:
        engine = open_engine(migrated_url)

        @settings(
            max_examples=8,
            deadline=None,
            derandomize=True,
            database=None,
            # The first thing found is told at once: shrinking it would take minutes.
            phases=(Phase.generate,),
        )
        @given(EVENTS)
        def happen(events: list[Event]) -> None:
            world = World(runner, engine)
            for event in events:
                world.happens(event)
                world.is_in_order()
            world.ends_well()

        try:
            happen()
        finally:
            runner.run(engine.dispose())
