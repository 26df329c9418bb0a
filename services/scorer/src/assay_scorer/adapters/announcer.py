from contextlib import suppress

from nats.errors import Error as NatsError

from assay_contracts.base import Message
from assay_scorer.ports.timing import Wake
from assay_servicekit.bus import Bus


class BusAnnouncer:
    """Implements `ports.outbox.Announcer`."""

    def __init__(self, bus: Bus, wake_relay: Wake) -> None:
        self._bus = bus
        self._wake_relay = wake_relay

    def wake(self) -> None:
        self._wake_relay()

    async def announce(self, message: Message) -> None:
        # Live words may be missed; the records have it all.
        with suppress(NatsError, TimeoutError, OSError):
            await self._bus.say(message)
