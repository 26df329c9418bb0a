"""The sweep of bundles on a real bus and a real database."""

import os
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from assay_contracts.review import ApproveSkill, CancelValidation, DeleteSkill
from assay_contracts.rpc import ListSkills
from assay_scorer.adapters.buckets import JetStreamBuckets
from assay_scorer.adapters.housekeeping import PostgresHousekeeping
from assay_scorer.workers.bundle_sweeper import BundleSweeper
from assay_servicekit.bus import Bus
from assay_servicekit.objects import ObjectMissing
from assay_testkit.scorer import an_upload
from assay_testkit.scorer_on_database import Scorer

HOUR = timedelta(hours=1)
NOW = datetime(2026, 2, 20, 12, 0, tzinfo=UTC)


@pytest.fixture
def sweeper(engine: AsyncEngine, bus: Bus) -> BundleSweeper:
    return BundleSweeper(
        PostgresHousekeeping(engine), JetStreamBuckets(bus), lambda: NOW, after=HOUR
    )


async def record(engine: AsyncEngine, name: str, key: str) -> None:
    upload = an_upload(name)
    bundle = upload.bundle.model_copy(update={"key": key})
    await Scorer(engine).ask(upload.model_copy(update={"bundle": bundle}))


async def messages(bus: Bus) -> int:
    return (await bus.jetstream().stream_info("OBJ_bundles")).state.messages


async def test_what_no_revision_refers_to_goes_after_an_hour(
    engine: AsyncEngine, bus: Bus, ingest: Bus, sweeper: BundleSweeper
) -> None:
    content = os.urandom(300_000)
    for key in ("recorded", "orphan"):
        await ingest.objects.put("bundles", key, content)
    await record(engine, "kept", "recorded")

    assert await sweeper.sweep(NOW) == 0
    assert await sweeper.sweep(NOW + HOUR - timedelta(seconds=1)) == 0
    assert await bus.objects.get("bundles", "orphan") == content
    assert await sweeper.sweep(NOW + HOUR) == 2

    with pytest.raises(ObjectMissing):
        await bus.objects.get("bundles", "orphan")
    assert await bus.objects.get("bundles", "recorded") == content
    assert await sweeper.sweep(NOW + 3 * HOUR) == 0


async def test_what_a_validation_under_way_is_carried_out_with_stays_until_it_has_ended(
    engine: AsyncEngine, bus: Bus, ingest: Bus, sweeper: BundleSweeper, scorer: Scorer
) -> None:
    await ingest.objects.put("bundles", "approved", b"bundle")
    await record(engine, "approved", "approved")
    await scorer.start_queued()
    approved = (await scorer.records.skills(ListSkills())).skills[0].skill_id
    status = await scorer.records.status(approved)
    assert status is not None
    assert status.validation_id is not None
    await scorer.run_to_the_end(status.validation_id)
    await scorer.ask(ApproveSkill(skill_id=approved, actor="ann"))
    reply = await scorer.ask(an_upload("next"))
    await scorer.start_queued()
    await scorer.ask(DeleteSkill(skill_id=approved, actor="ann"))

    await sweeper.sweep(NOW)
    assert await sweeper.sweep(NOW + 2 * HOUR) == 0
    assert await bus.objects.get("bundles", "approved") == b"bundle"

    await scorer.ask(CancelValidation(skill_id=reply.skill_id, actor="ann"))
    await sweeper.sweep(NOW + 3 * HOUR)
    assert await sweeper.sweep(NOW + 4 * HOUR) == 2


async def test_a_bundle_that_is_recorded_late_stays(
    engine: AsyncEngine, bus: Bus, ingest: Bus, sweeper: BundleSweeper
) -> None:
    await ingest.objects.put("bundles", "late", b"bundle")
    await sweeper.sweep(NOW)
    await record(engine, "late", "late")

    assert await sweeper.sweep(NOW + 2 * HOUR) == 0
    assert await bus.objects.get("bundles", "late") == b"bundle"


async def test_chunks_without_a_name_go_too(bus: Bus, ingest: Bus, sweeper: BundleSweeper) -> None:
    await ingest.jetstream().publish("$O.bundles.C.half-written", b"chunk")
    assert await messages(bus) == 1

    await sweeper.sweep(NOW)
    await sweeper.sweep(NOW + HOUR)

    assert await messages(bus) == 0


async def test_an_empty_bucket_is_no_trouble(sweeper: BundleSweeper) -> None:
    assert await sweeper.sweep(NOW) == 0
