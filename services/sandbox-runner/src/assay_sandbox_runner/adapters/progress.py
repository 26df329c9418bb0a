import structlog
from nats.errors import Error as NatsError

from assay_contracts.validations import ValidationProgressed
from assay_servicekit.bus import Bus

log = structlog.get_logger(__name__)


class LiveProgress:
    """Says on the bus how far a run has come. Nobody's work waits for it or fails with it."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def __call__(self, progress: ValidationProgressed) -> None:
        try:
            await self._bus.say(progress)
        except (NatsError, TimeoutError) as error:
            log.info("progress_not_said", reason=str(error))
