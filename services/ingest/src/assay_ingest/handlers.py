from assay_contracts.rpc import IngestSubmit, PingIngest, Pong
from assay_ingest.use_cases.submit_upload import SubmitUpload
from assay_servicekit.bus import Bus


def register(bus: Bus, submit: SubmitUpload) -> None:
    bus.on_question(IngestSubmit, submit)
    bus.on_question(PingIngest, _pong)


async def _pong(_: PingIngest) -> Pong:
    return Pong()
