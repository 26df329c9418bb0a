"""What holds for every request, whatever route it takes."""

from http import HTTPStatus
from typing import Final

import structlog
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assay_contracts.rpc import Problem
from assay_gateway.adapters.http.problems import answer, unexpected

RawHeaders = tuple[tuple[bytes, bytes], ...]

ALWAYS: Final[RawHeaders] = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
)
OVER_HTTPS: Final[RawHeaders] = ((b"strict-transport-security", b"max-age=31536000"),)
UNLESS_SET: Final[RawHeaders] = (
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
UNLESS_SET_IN_API: Final[RawHeaders] = (*UNLESS_SET, (b"cache-control", b"no-store"))
"""A route that knows better, such as the page with its scripts, says so itself."""


class SecurityHeaders:
    """On every answer, refusals and defects included."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        always = ALWAYS + OVER_HTTPS if scope["scheme"] == "https" else ALWAYS
        unless_set = UNLESS_SET_IN_API if scope["path"].startswith("/api") else UNLESS_SET

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = message["headers"]
                given = {name.lower() for name, _ in headers}
                message["headers"] = [
                    *headers,
                    *always,
                    *(header for header in unless_set if header[0] not in given),
                ]
            await send(message)

        await self._app(scope, receive, send_with_headers)


class ErrorBoundary:
    """Names the request in every log line, and lets no exception out."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answering = False

        async def watched_send(message: Message) -> None:
            nonlocal answering
            answering = True
            await send(message)

        with structlog.contextvars.bound_contextvars(method=scope["method"], path=scope["path"]):
            try:
                await self._app(scope, receive, watched_send)
            except Exception as error:
                defect = unexpected(error)
                if answering:
                    # Too late for an answer: only a broken connection still says that this failed.
                    raise
                await defect(scope, receive, send)


class CrossOrigin(CORSMiddleware):
    """Lets pages of these origins use the API; a token must still come with each request."""

    def __init__(self, app: ASGIApp, *, origins: tuple[str, ...]) -> None:
        super().__init__(
            app,
            allow_origins=origins,
            allow_methods=("GET", "POST", "DELETE"),
            allow_headers=(
                "Authorization",
                "Content-Type",
                "Idempotency-Key",
                "If-None-Match",
                "Last-Event-ID",
            ),
            expose_headers=("Content-Disposition", "ETag", "Retry-After"),
        )

    def preflight_response(self, request_headers: Headers) -> Response:
        response = super().preflight_response(request_headers)
        if response.status_code == HTTPStatus.OK:
            return response
        return answer(
            Problem(code="FORBIDDEN", message="Pages of this site may not send this request."),
            {"Vary": response.headers["Vary"]},
        )
