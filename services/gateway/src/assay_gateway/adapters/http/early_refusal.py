"""Refuse a request before its body was read."""

import asyncio
from contextlib import suppress
from typing import Final

from starlette.types import Receive, Scope, Send

from assay_contracts.rpc import ProblemError
from assay_gateway.adapters.http.problems import answer

DRAIN_S: Final = 2.0
DRAIN_BYTES: Final = 4 * 1024 * 1024
"""Larger than most skills: whoever sends one with a token that expired should be told so."""


async def refuse(error: ProblemError, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer, and take in a little of what is still sent."""
    response = answer(error.problem)
    if not has_body(scope):
        await response(scope, receive, send)
        return
    response.headers["Connection"] = "close"
    await send(
        {
            "type": "http.response.start",
            "status": response.status_code,
            "headers": response.raw_headers,
        }
    )
    await send({"type": "http.response.body", "body": response.body, "more_body": True})
    await _drain(receive)
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def has_body(scope: Scope) -> bool:
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and value != b"0")
        for name, value in scope["headers"]
    )


async def _drain(receive: Receive) -> None:
    """Take in a little more: a connection that is cut at once may take the answer with it."""
    received = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_S):
            while received < DRAIN_BYTES:
                message = await receive()
                received += len(message.get("body", b""))
                if not message.get("more_body", False):
                    return
