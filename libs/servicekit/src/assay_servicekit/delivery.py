"""How long to wait, how to stay alive, and where hopeless messages go."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.js import JetStreamContext

from assay_contracts.topology import HEARTBEAT

LONGEST_DELAY_S = 60.0


def retry_delay_s(tries: int) -> float:
    """Seconds to wait after the `tries`-th failure: 0.5, 1, 2, … up to a minute."""
    return float(min(LONGEST_DELAY_S, 0.5 * 2 ** min(tries - 1, 10)))


@asynccontextmanager
async def heartbeat(raw: Msg) -> AsyncIterator[None]:
    """Tell the bus, while the body runs, that this message is being worked on."""

    async def beat() -> None:
        while True:
            await asyncio.sleep(HEARTBEAT.total_seconds())
            # A missed beat costs a redelivery at worst, and the scorer drops the second result.
            with suppress(NatsError, OSError):
                await raw.in_progress()

    task = asyncio.create_task(beat())
    try:
        yield
    finally:
        task.cancel()


async def dead_letter(js: JetStreamContext, raw: Msg, reason: str) -> None:
    """Keep the message and why it is hopeless, then take it off its queue."""
    meta = raw.metadata
    await js.publish(
        f"dead.{raw.subject}",
        raw.data,
        headers={
            "Nats-Msg-Id": f"dead:{meta.stream}:{meta.sequence.stream}",
            "Assay-Reason": " ".join(reason.split())[:1000],
            "Assay-Tries": str(meta.num_delivered),
        },
        timeout=5,
    )
    await raw.term()
