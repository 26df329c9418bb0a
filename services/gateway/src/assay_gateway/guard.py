"""Stands before every route of the admin API, those to come included."""

import asyncio
from contextlib import suppress
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from assay_contracts.rpc import ProblemError
from assay_gateway.auth import CALLER, Authenticate
from assay_gateway.problems import answer

ADMIN_PATH: Final = "/api/admin"
LINGER_S: Final = 2.0
LINGER_BYTES: Final = 4 * 1024 * 1024
"""Larger than most skills: whoever sends one with a token that expired should be told so."""
UNKNOWN_ADDRESS: Final = "unknown"


class Guard:
    """Lets admins pass to what is under `/api/admin`, before a route is looked for or a body read.

    Whoever is refused learns nothing of what is behind, and cannot send it much.
    """

    def __init__(self, app: ASGIApp, *, authenticate: Authenticate) -> None:
        self._app = app
        self._authenticate = authenticate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or not _is_guarded(scope["path"]):
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        client = scope.get("client")
        try:
            scope[CALLER] = await self._authenticate(
                scope["headers"], client[0] if client else UNKNOWN_ADDRESS
            )
        except ProblemError as error:
            await refuse(error, scope, receive, send)
            return
        await self._app(scope, receive, send)


def _is_guarded(path: str) -> bool:
    return path == ADMIN_PATH or path.startswith(f"{ADMIN_PATH}/")


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
    await _linger(receive)
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def has_body(scope: Scope) -> bool:
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and value != b"0")
        for name, value in scope["headers"]
    )


async def _linger(receive: Receive) -> None:
    """Take in a little more: a connection that is cut at once may take the answer with it."""
    received = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(LINGER_S):
            while received < LINGER_BYTES:
                message = await receive()
                received += len(message.get("body", b""))
                if not message.get("more_body", False):
                    return
