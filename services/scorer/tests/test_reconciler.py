"""What the reconciler does with validations that go wrong, on a real bus and a real database."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from pydantic import SecretStr
from sqlalchemy.ext.asyncio import AsyncEngine

from assay_contracts.runs import Package
from assay_contracts.skills import Dependencies
from assay_contracts.validations import CleanupRequested
from assay_scorer.adapters.reconciler import Reconciler
from assay_scorer.adapters.records import PostgresRecords
from assay_scorer.domain.validation import Validation
from assay_scorer.full_tests import EndAbandoned
from assay_scorer.runtime import KeepVersions
from assay_scorer.service import Conduct, Register, TakeResult
from assay_servicekit.bus import Bus
from assay_servicekit.settings import ServiceSettings
from assay_testkit.scorer import (
    Shelf,
    Silent,
    an_upload,
    open_work_of,
    said,
    started,
    well_done,
)
from assay_testkit.servers import RunningNats


class PickyShelf(Shelf):
    """Fails, in a way that does not pass, for what contains a certain text."""

    unwanted = b"nothing"

    async def keep(self, key: str, content: bytes) -> None:
        if self.unwanted in content:
            raise ValueError
        await super().keep(key, content)


@pytest.fixture
async def bus(fresh_nats_server: RunningNats) -> AsyncIterator[Bus]:
    bus = Bus(ServiceSettings(nats_url=SecretStr(fresh_nats_server.url("scorer"))), "scorer")
    await bus.connect()
    yield bus
    await bus.stop()


@pytest.fixture
def shelf() -> PickyShelf:
    return PickyShelf()


@pytest.fixture
def conduct(engine: AsyncEngine, shelf: PickyShelf) -> Conduct:
    return Conduct(
        records=PostgresRecords(engine),
        reports=shelf,
        announcer=Silent(),
        clock=lambda: datetime.now(UTC) - timedelta(days=1),
        max_active=5,
    )


@pytest.fixture
def reconciler(engine: AsyncEngine, bus: Bus, shelf: PickyShelf) -> Reconciler:
    """A day later than `conduct`: all deadlines have passed."""
    later = Conduct(
        records=PostgresRecords(engine),
        reports=shelf,
        announcer=Silent(),
        clock=lambda: datetime.now(UTC),
        max_active=5,
    )
    return Reconciler(
        engine,
        bus,
        conduct=later,
        keep_versions=KeepVersions(records=later.records, announcer=Silent(), clock=later.clock),
        end_abandoned=EndAbandoned(conduct=later),
        every_s=1,
    )


async def graded_next(conduct: Conduct, name: str) -> UUID:
    """A validation whose online run has ended."""
    reply = await Register(conduct=conduct, start_soon=lambda: None)(an_upload(name))
    await conduct.start_queued()
    take = TakeResult(conduct=conduct)
    for _ in ("planning", "online run"):
        (work,) = await open_work_of(conduct, started(reply))
        await take(well_done(work))
    return started(reply)


async def stored(conduct: Conduct, validation_id: UUID) -> Validation:
    async with conduct.records.transaction() as transaction:
        validation = await transaction.locked(validation_id)
    assert validation is not None
    return validation


async def test_a_version_that_is_no_number_for_python_is_borne(
    conduct: Conduct, reconciler: Reconciler
) -> None:
    upload = an_upload("odd")
    declared = upload.manifest.model_copy(
        update={"dependencies": Dependencies(pip=("odd-lib>=1",))}
    )
    reply = await Register(conduct=conduct, start_soon=lambda: None)(
        upload.model_copy(update={"manifest": declared})
    )
    await conduct.start_queued()
    take = TakeResult(conduct=conduct)
    (planning,) = await open_work_of(conduct, started(reply))
    await take(well_done(planning))
    (run,) = await open_work_of(conduct, started(reply))
    odd = Package(ecosystem="pip", name="odd-lib", version="1" * 5000)
    await take(well_done(run).model_copy(update={"packages_after": (odd,)}))
    (grading,) = await open_work_of(conduct, started(reply))
    await take(well_done(grading))
    await reconciler.reconcile()
    assert (await stored(conduct, started(reply))).verdict == "inconclusive"


async def test_what_cannot_be_dealt_with_ends_without_what_was_found(
    engine: AsyncEngine, conduct: Conduct, shelf: PickyShelf, reconciler: Reconciler
) -> None:
    validation_id = await graded_next(conduct, "evil")
    shelf.unwanted = b'"kind": "online"'
    await reconciler.reconcile()
    ended = await stored(conduct, validation_id)
    assert (ended.step, ended.verdict, ended.cause) == ("done", "inconclusive", "deadline")
    assert "could not be dealt with" in (ended.reason or "")
    (cleanup,) = await said(engine, CleanupRequested.SUBJECT)
    assert CleanupRequested.model_validate_json(cleanup).snapshots == (f"{validation_id}-1",)


async def test_one_that_cannot_even_be_ended_keeps_no_other_waiting(
    conduct: Conduct, shelf: PickyShelf, reconciler: Reconciler
) -> None:
    evil = await graded_next(conduct, "evil")
    other = await graded_next(conduct, "other")
    shelf.unwanted = b"evil"
    await reconciler.reconcile()
    assert (await stored(conduct, evil)).step == "online_grading"
    assert (await stored(conduct, other)).step == "done"
