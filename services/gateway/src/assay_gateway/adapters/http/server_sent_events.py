"""An answer that goes on: server-sent events."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Final

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.types import Receive, Scope, Send

from assay_gateway.adapters.http.admin import caller_of

KEEP_ALIVE_S: Final = 10
LONGEST_S: Final = 24 * 3600
"""Nobody follows for longer without coming back."""


class EventStream(EventSourceResponse):
    """Ends when the client leaves, its token expires, or the server stops."""

    def __init__(self, events: AsyncIterator[ServerSentEvent]) -> None:
        super().__init__(events, sep="\n", ping=KEEP_ALIVE_S, ping_message_factory=_keep_alive)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with asyncio.timeout(_time_left_s(scope)) as time_left:
                await super().__call__(scope, receive, send)
        except TimeoutError:
            if not time_left.expired():
                raise
        if self.active:
            # It is us who end it: the client is to see an end, not a broken connection.
            await send({"type": "http.response.body", "body": b"", "more_body": False})


def _time_left_s(scope: Scope) -> float | None:
    """How long whoever follows may do so; a new token goes on from the last event it saw."""
    expires_at = caller_of(scope).expires_at
    return None if expires_at is None else min(expires_at, time.time() + LONGEST_S) - time.time()


def _keep_alive() -> ServerSentEvent:
    return ServerSentEvent(comment="still here")
