from nats.js.errors import NotFoundError

from assay_servicekit.bus import Bus
from assay_servicekit.topology import apply_topology


class JetStreamWork:
    """Implements `ports.outbox.WorkOnBus`."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def restore_topology(self) -> None:
        await apply_topology(self._bus.jetstream())

    async def holds(self, sequence: int, dedup_key: str) -> bool:
        try:
            message = await self._bus.jetstream().get_msg("WORK", sequence)
        except NotFoundError:
            return False
        # A store that was wiped counts from one again: the number alone proves nothing.
        return bool((message.headers or {}).get("Nats-Msg-Id") == dedup_key)
