from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

from assay_scorer import handlers
from assay_scorer.adapters.answers import PostgresAnswers
from assay_scorer.adapters.migrate import migrate
from assay_scorer.adapters.outbox import Outbox
from assay_scorer.adapters.reconciler import Reconciler
from assay_scorer.adapters.records import PostgresRecords, open_engine
from assay_scorer.adapters.reports import ReportBucket
from assay_scorer.adapters.retention import Retention
from assay_scorer.adapters.soon import Soon
from assay_scorer.adapters.sweeper import BundleSweeper
from assay_scorer.full_tests import EndAbandoned, FullTests
from assay_scorer.once import Once
from assay_scorer.review import ReadAudit, Review
from assay_scorer.runtime import KeepVersions, Runtime
from assay_scorer.service import Answer, Conduct, NoteProgress, Register, TakeResult
from assay_scorer.settings import Settings
from assay_servicekit.background import background
from assay_servicekit.bus import Bus
from assay_servicekit.service import Service
from assay_servicekit.topology import apply_topology

ORPHANED_AFTER = timedelta(hours=1)


def _now() -> datetime:
    return datetime.now(UTC)


def create_app(settings: Settings) -> Service:
    """Wire the scorer; nothing is connected until it is served."""
    bus = Bus(settings, "scorer")
    engine = open_engine(settings.database_url.get_secret_value())
    records = PostgresRecords(engine)
    outbox = Outbox(engine, bus)
    conduct = Conduct(
        records=records,
        reports=ReportBucket(bus.objects),
        announcer=outbox,
        clock=_now,
        max_active=settings.max_active,
        max_full_test_skills=settings.max_full_test_skills,
        token_budget=settings.validation_tokens,
        dependency_mode=settings.dependency_mode,
    )
    end_abandoned = EndAbandoned(conduct=conduct)
    admission = Soon("admission", conduct.start_queued)
    ending = Soon("ending", end_abandoned)
    full_tests = FullTests(conduct=conduct, start_soon=admission.wake, end_soon=ending.wake)
    keep_versions = KeepVersions(records=records, announcer=outbox, clock=_now)
    reconciler = Reconciler(
        engine,
        bus,
        conduct=conduct,
        keep_versions=keep_versions,
        end_abandoned=end_abandoned,
        every_s=settings.reconcile_every_s,
    )
    sweeper = BundleSweeper(engine, bus, after=ORPHANED_AFTER)
    answers = PostgresAnswers(engine)
    retention = Retention(engine, bus, keep=settings.keep)
    handlers.register(
        bus,
        register=Register(conduct=conduct, start_soon=admission.wake),
        take=TakeResult(conduct=conduct),
        note=NoteProgress(records=records),
        answer=Answer(records=records),
        review=Review(
            conduct=conduct,
            start_soon=admission.wake,
            clear_soon=retention.wake,
            candidate_ttl=settings.snapshot_ttl,
        ),
        audit=ReadAudit(records=records),
        runtime=Runtime(records=records, announcer=outbox, clock=_now, end_soon=ending.wake),
        keep_versions=keep_versions,
        full_tests=full_tests,
        once=Once(answers=answers),
    )

    @asynccontextmanager
    async def before() -> AsyncIterator[None]:
        await migrate(engine)
        await apply_topology(bus.jetstream())
        try:
            async with background(
                outbox=outbox.run(),
                admission=admission.run(),
                ending=ending.run(),
                reconciler=reconciler.run(),
                sweeper=sweeper.run(),
                retention=retention.run(),
                answers=answers.run(),
            ):
                yield
        finally:
            await engine.dispose()

    return Service(bus=bus, settings=settings, before=before, checks={"database": records.ping})
