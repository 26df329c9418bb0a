"""What the reconciler does with validations that go wrong, on a real bus and a real database."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from assay_contracts.runs import Package
from assay_contracts.skills import Dependencies
from assay_contracts.validations import CleanupRequested
from assay_scorer.adapters.outbox import PostgresOutbox
from assay_scorer.adapters.work_on_bus import JetStreamWork
from assay_scorer.workers.reconciler import Reconciler
from assay_servicekit.bus import Bus
from assay_testkit.scorer import an_upload, started, well_done
from assay_testkit.scorer_on_database import ReportsInMemory, Scorer, said


class PickyReports(ReportsInMemory):
    """Fails, in a way that does not pass, for what contains a certain text."""

    unwanted = b"nothing"

    async def keep(self, key: str, content: bytes) -> None:
        if self.unwanted in content:
            raise ValueError
        await super().keep(key, content)


@pytest.fixture
def reports() -> PickyReports:
    return PickyReports()


@pytest.fixture
def scorer(engine: AsyncEngine, reports: PickyReports) -> Scorer:
    return Scorer(engine, reports=reports, clock=lambda: datetime.now(UTC) - timedelta(days=1))


@pytest.fixture
def reconciler(engine: AsyncEngine, bus: Bus, reports: PickyReports) -> Reconciler:
    """A day later than `scorer`: all deadlines have passed."""
    later = Scorer(engine, reports=reports)
    return Reconciler(
        validations=later.records,
        said=PostgresOutbox(engine),
        bus=JetStreamWork(bus),
        conduct=later.conduct,
        start_queued=later.start_queued,
        end_abandoned_tests=later.end_abandoned_tests,
        ask_to_keep_versions=later.ask_to_keep_versions,
        clock=later.clock,
    )


async def graded_next(scorer: Scorer, name: str) -> UUID:
    """A validation whose online run has ended."""
    reply = await scorer.ask(an_upload(name))
    await scorer.start_queued()
    take = scorer.take
    for _ in ("planning", "online run"):
        (work,) = await scorer.open_work(started(reply))
        await take(well_done(work))
    return started(reply)


async def test_a_version_that_is_no_number_for_python_is_borne(
    scorer: Scorer, reconciler: Reconciler
) -> None:
    upload = an_upload("odd")
    declared = upload.manifest.model_copy(
        update={"dependencies": Dependencies(pip=("odd-lib>=1",))}
    )
    reply = await scorer.ask(upload.model_copy(update={"manifest": declared}))
    await scorer.start_queued()
    take = scorer.take
    (planning,) = await scorer.open_work(started(reply))
    await take(well_done(planning))
    (run,) = await scorer.open_work(started(reply))
    odd = Package(ecosystem="pip", name="odd-lib", version="1" * 5000)
    await take(well_done(run).model_copy(update={"packages_after": (odd,)}))
    (grading,) = await scorer.open_work(started(reply))
    await take(well_done(grading))
    await reconciler.reconcile()
    assert (await scorer.stored(started(reply))).verdict == "inconclusive"


async def test_what_cannot_be_dealt_with_ends_without_what_was_found(
    engine: AsyncEngine, scorer: Scorer, reports: PickyReports, reconciler: Reconciler
) -> None:
    validation_id = await graded_next(scorer, "evil")
    reports.unwanted = b'"kind": "online"'
    await reconciler.reconcile()
    ended = await scorer.stored(validation_id)
    assert (ended.step, ended.verdict, ended.cause) == ("done", "inconclusive", "deadline")
    assert "could not be dealt with" in (ended.reason or "")
    (cleanup,) = await said(engine, CleanupRequested.SUBJECT)
    assert CleanupRequested.model_validate_json(cleanup).snapshots == (f"{validation_id}-1",)


async def test_one_that_cannot_even_be_ended_keeps_no_other_waiting(
    scorer: Scorer, reports: PickyReports, reconciler: Reconciler
) -> None:
    evil = await graded_next(scorer, "evil")
    other = await graded_next(scorer, "other")
    reports.unwanted = b"evil"
    await reconciler.reconcile()
    assert (await scorer.stored(evil)).step == "online_grading"
    assert (await scorer.stored(other)).step == "done"
