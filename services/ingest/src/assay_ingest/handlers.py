from assay_contracts.rpc import IngestSubmit
from assay_ingest.service import SubmitUpload
from assay_servicekit.bus import Bus


def register(bus: Bus, submit: SubmitUpload) -> None:
    bus.on_question(IngestSubmit, submit)
