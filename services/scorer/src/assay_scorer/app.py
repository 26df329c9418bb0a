from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncEngine

from assay_scorer import handlers
from assay_scorer.adapters.announcer import BusAnnouncer
from assay_scorer.adapters.buckets import JetStreamBuckets
from assay_scorer.adapters.database import open_engine
from assay_scorer.adapters.housekeeping import PostgresHousekeeping
from assay_scorer.adapters.idempotency import PostgresAnswers
from assay_scorer.adapters.migrate import migrate
from assay_scorer.adapters.outbox import PostgresOutbox
from assay_scorer.adapters.records import PostgresRecords
from assay_scorer.adapters.reports import ReportBucket
from assay_scorer.adapters.signing import DsseSigner
from assay_scorer.adapters.uploads import PostgresUploads
from assay_scorer.adapters.work_on_bus import JetStreamWork
from assay_scorer.settings import Settings
from assay_scorer.use_cases.admission import AdmitQueued, StartQueued
from assay_scorer.use_cases.announcing import Announce
from assay_scorer.use_cases.conducting import Advance, Conduct, KeepReport
from assay_scorer.use_cases.full_tests import EndAbandonedTests
from assay_scorer.use_cases.runtime_versions import AskToKeepVersions
from assay_scorer.workers.answer_expiry import ExpireAnswers
from assay_scorer.workers.bundle_sweeper import BundleSweeper
from assay_scorer.workers.debounce import debounced
from assay_scorer.workers.outbox_relay import OutboxRelay
from assay_scorer.workers.reconciler import Reconciler
from assay_scorer.workers.retention import Retention
from assay_servicekit.background import background
from assay_servicekit.bus import Bus
from assay_servicekit.periodic import Periodic
from assay_servicekit.service import Service
from assay_servicekit.topology import apply_topology


def _now() -> datetime:
    return datetime.now(UTC)


def create_app(settings: Settings) -> Service:
    """Wire the scorer; nothing is connected until it is served."""
    bus = Bus(settings, "scorer")
    engine = open_engine(settings.database_url.get_secret_value())
    records = PostgresRecords(engine)
    workers = _wire(bus, engine, records, settings)

    @asynccontextmanager
    async def before() -> AsyncIterator[None]:
        await migrate(engine)
        await apply_topology(bus.jetstream())
        try:
            async with background(**{name: worker.run() for name, worker in workers.items()}):
                yield
        finally:
            await engine.dispose()

    return Service(bus=bus, settings=settings, before=before, checks={"database": records.ping})


def _wire(
    bus: Bus, engine: AsyncEngine, records: PostgresRecords, settings: Settings
) -> dict[str, Periodic]:
    """Has the bus answered by the use cases, and returns what runs by the clock."""
    outbox = PostgresOutbox(engine)
    answers = PostgresAnswers(engine)
    housekeeping, buckets = PostgresHousekeeping(engine), JetStreamBuckets(bus)
    relay = OutboxRelay(outbox=outbox, bus=bus, clock=_now).worker()
    retention = Retention(housekeeping, buckets, _now, keep=settings.keep).worker()

    announce = Announce(announcer=BusAnnouncer(bus, relay.wake))
    admit = AdmitQueued(clock=_now, rules=settings.admission_rules)
    start_queued = StartQueued(records=records, admit=admit, announce=announce)
    signer = DsseSigner(settings.signing_key_file) if settings.signing_key_file else None
    keep_report = KeepReport(reports=ReportBucket(bus.objects), signer=signer)
    advance = Advance(keep_report=keep_report, admit=admit, clock=_now)
    conduct = Conduct(records=records, advance=advance, announce=announce)
    end_abandoned_tests = EndAbandonedTests(full_tests=records, conduct=conduct)
    admission = debounced("admission", start_queued)
    test_ending = debounced("test_ending", end_abandoned_tests)
    reconciler = Reconciler(
        validations=records,
        said=outbox,
        bus=JetStreamWork(bus),
        conduct=conduct,
        start_queued=start_queued,
        end_abandoned_tests=end_abandoned_tests,
        ask_to_keep_versions=AskToKeepVersions(
            versions=records, records=records, announce=announce, clock=_now
        ),
        clock=_now,
    )
    handlers.register(
        bus,
        handlers.Parts(
            records=records,
            uploads=PostgresUploads(engine),
            answers=answers,
            work=outbox,
            clock=_now,
            announce=announce,
            advance=advance,
            conduct=conduct,
            wake_admission=admission.wake,
            wake_test_ending=test_ending.wake,
            wake_retention=retention.wake,
        ),
    )
    return {
        "outbox": relay,
        "admission": admission,
        "test_ending": test_ending,
        "reconciler": reconciler.worker(timedelta(seconds=settings.reconcile_every_s)),
        "sweeper": BundleSweeper(housekeeping, buckets, _now).worker(),
        "retention": retention,
        "answers": ExpireAnswers(answers=answers, clock=_now).worker(),
    }
