"""The middleware that bounds what a request may have read into memory."""

from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assay_contracts.rpc import Problem, ProblemError
from assay_gateway.adapters.http.admin_gate import ADMIN_PATH
from assay_gateway.adapters.http.early_refusal import has_body, refuse

MAX_BODY_BYTES: Final = 64 * 1024
"""Many times the longest thing that anybody has to say here."""
UPLOAD_PATH: Final = f"{ADMIN_PATH}/skills/upload"


class BodyLimit:
    """Takes in every body before its route does, and no more of it than is allowed.

    But for the body of an upload, which is never whole in memory and has a limit of its own.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] == UPLOAD_PATH or not has_body(scope):
            await self._app(scope, receive, send)
            return
        received: Message | None = await _whole(receive)
        if received is None:
            await refuse(_too_large(), scope, receive, send)
            return

        async def replayed() -> Message:
            nonlocal received
            message, received = received, None
            return message or await receive()

        await self._app(scope, replayed, send)


async def _whole(receive: Receive) -> Message | None:
    """The body as one message, or that the client has gone; None if the body is too large."""
    body = b""
    more = True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return message
        body += message.get("body", b"")
        if len(body) > MAX_BODY_BYTES:
            return None
        more = message.get("more_body", False)
    return {"type": "http.request", "body": body, "more_body": False}


def _too_large() -> ProblemError:
    return ProblemError(
        Problem(
            code="FILE_TOO_LARGE",
            message=f"The request's body is larger than {MAX_BODY_BYTES // 1024} KiB."
            " Send nothing but what /api/openapi.json shows.",
        )
    )
