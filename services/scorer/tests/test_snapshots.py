"""Snapshots of runtime versions and candidates: kept or deleted, and asked for until they are."""

from datetime import timedelta

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from assay_contracts.base import Failure, FailureCategory
from assay_contracts.review import (
    DeleteSkill,
    ListAudit,
    RejectSkill,
)
from assay_contracts.runtime import (
    ListVersions,
)
from assay_contracts.validations import CleanupRequested, KeepFinished, KeepRequested
from assay_scorer.domain.runtime_versions import ASK_AGAIN_AFTER
from assay_testkit.scorer import gone_wrong, well_done
from assay_testkit.scorer_on_database import Scorer, SettableClock, said


async def test_a_snapshot_that_is_not_deleted_is_asked_to_be_ever_more_seldom(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    skill = await scorer.validated("alpha")
    await scorer.ask(RejectSkill(skill_id=skill.skill_id, actor="ann", reason="No."))
    await scorer.ask(DeleteSkill(skill_id=skill.skill_id, actor="ann"))
    take = scorer.take
    for _ in range(25):
        newest = CleanupRequested.model_validate_json((await said(engine, "cleanup.requested"))[-1])
        for _ in ("heard", "heard again"):
            await take(gone_wrong(newest, "handed_over"))
    asked = [CleanupRequested.model_validate_json(b) for b in await said(engine, newest.SUBJECT)]
    assert [each.attempt for each in asked] == list(range(1, 21))
    assert {each.snapshots for each in asked} == {(f"{skill.validation_id}-1",)}
    assert len({each.message_id for each in asked}) == len(asked)
    async with engine.connect() as connection:
        delays = await connection.scalars(
            text(
                "select extract(epoch from due_at - created_at) from outbox"
                " where subject = 'cleanup.requested' order by id"
            )
        )
        minutes = [float(delay) / 60 for delay in delays]
    assert minutes == [0, 1, 2, 4, 8, 16, 32, *[60] * 13]


async def test_what_is_deleted_is_not_asked_to_be_again(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    skill = await scorer.validated("alpha")
    await scorer.ask(RejectSkill(skill_id=skill.skill_id, actor="ann", reason="No."))
    (body,) = await said(engine, "cleanup.requested")
    await scorer.take(well_done(CleanupRequested.model_validate_json(body)))
    assert await said(engine, "cleanup.requested") == [body]


async def test_a_version_is_asked_to_be_kept_until_it_is(
    engine: AsyncEngine, scorer: Scorer, clock: SettableClock
) -> None:
    await scorer.approved("alpha")
    await scorer.ask_to_keep_versions()
    assert len(await said(engine, "keep.requested")) == 1
    clock.ahead += ASK_AGAIN_AFTER * 2
    await scorer.ask_to_keep_versions()
    asked = [KeepRequested.model_validate_json(b) for b in await said(engine, "keep.requested")]
    assert [each.attempt for each in asked] == [1, 2]
    done = well_done(asked[1])
    assert isinstance(done, KeepFinished)
    await scorer.take(done)
    clock.ahead += ASK_AGAIN_AFTER * 2
    await scorer.ask_to_keep_versions()
    assert len(await said(engine, "keep.requested")) == 2


async def asked_to_keep(engine: AsyncEngine, attempt: int) -> KeepRequested:
    asked = await said(engine, "keep.requested")
    return KeepRequested.model_validate_json(asked[-1]).model_copy(update={"attempt": attempt})


def unkept(asked: KeepRequested, category: FailureCategory, *, gone: bool) -> KeepFinished:
    failed = asked.failed(Failure.of(category, "there is no such snapshot"))
    assert isinstance(failed, KeepFinished)
    return failed.model_copy(update={"gone": gone})


async def test_a_snapshot_that_is_lost_is_said_to_be(
    engine: AsyncEngine, scorer: Scorer, clock: SettableClock
) -> None:
    await scorer.approved("alpha")
    for attempt in (1, 2, 3):
        (newest, _) = (await scorer.ask(ListVersions())).versions
        assert newest.is_available
        asked = await asked_to_keep(engine, attempt)
        await scorer.take(unkept(asked, "sandbox", gone=True))
        clock.ahead += timedelta(hours=1)
        await scorer.ask_to_keep_versions()
    (newest, _) = (await scorer.ask(ListVersions())).versions
    assert (newest.is_current, newest.is_available) == (True, False)
    audit = await scorer.ask(ListAudit(size=1))
    assert audit.entries[0].action == "snapshot_lost"
    assert "no such snapshot" in audit.entries[0].details["reason"]


@pytest.mark.parametrize("category", ["sandbox", "handed_over", "worker_died", "bus"])
async def test_an_outage_loses_no_snapshot_however_long_it_is(
    *, engine: AsyncEngine, scorer: Scorer, clock: SettableClock, category: FailureCategory
) -> None:
    await scorer.approved("alpha")
    for attempt in range(1, 12):
        asked = await asked_to_keep(engine, attempt)
        await scorer.take(unkept(asked, category, gone=False))
        clock.ahead += timedelta(hours=1)
        await scorer.ask_to_keep_versions()
        assert len(await said(engine, "keep.requested")) == attempt + 1
    (newest, _) = (await scorer.ask(ListVersions())).versions
    assert newest.is_available


async def test_what_is_not_kept_is_asked_for_ever_more_seldom(
    engine: AsyncEngine, scorer: Scorer, clock: SettableClock
) -> None:
    await scorer.approved("alpha")
    minutes = []
    for minute in range(30):
        before = len(await said(engine, "keep.requested"))
        clock.ahead += timedelta(seconds=61)
        await scorer.ask_to_keep_versions()
        if len(await said(engine, "keep.requested")) > before:
            minutes.append(minute)
    assert minutes == [0, 2, 6, 14, 22]


async def test_a_snapshot_that_turns_up_again_is_there_again_unless_it_was_to_go(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    await scorer.approved("skill-1")
    asked = await asked_to_keep(engine, 3)
    late = well_done(asked)
    assert isinstance(late, KeepFinished)
    await scorer.take(unkept(asked, "sandbox", gone=True))
    await scorer.take(late)
    (newest, _) = (await scorer.ask(ListVersions())).versions
    assert newest.is_available

    for number in range(2, 7):
        await scorer.approved(f"skill-{number}")
    await scorer.take(late)
    versions = (await scorer.ask(ListVersions())).versions
    assert [each.version for each in versions if not each.is_available] == ["v1.1"]


async def test_one_that_was_dropped_before_it_was_kept_stays_dropped(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    await scorer.approved("skill-1")
    late = well_done(await asked_to_keep(engine, 1))
    assert isinstance(late, KeepFinished)
    for number in range(2, 7):
        await scorer.approved(f"skill-{number}")
    await scorer.take(late)
    versions = (await scorer.ask(ListVersions())).versions
    assert [each.version for each in versions if not each.is_available] == ["v1.1"]
