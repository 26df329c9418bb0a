import asyncio

from assay_ingest.adapters.objects import StoredBundles, StoredUploads
from assay_ingest.adapters.records import RecordsOnBus
from assay_ingest.handlers import register
from assay_ingest.settings import Settings
from assay_ingest.use_cases.submit_upload import SubmitUpload
from assay_servicekit.bus import Bus
from assay_servicekit.service import Service


def create_app(settings: Settings) -> Service:
    """Wire ingest together; nothing is connected yet."""
    bus = Bus(settings, "ingest")
    register(
        bus,
        SubmitUpload(
            uploads=StoredUploads(bus.objects),
            bundles=StoredBundles(bus.objects),
            records=RecordsOnBus(bus),
            slots=asyncio.Semaphore(settings.concurrency),
            strict=settings.strict,
        ),
    )
    return Service(bus=bus, settings=settings)
