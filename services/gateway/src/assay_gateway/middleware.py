"""What holds for every request, whatever route it takes."""

import structlog
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assay_gateway.problems import unexpected


class Edge:
    """Security headers on every answer, the request in every log line, no exception outside."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answering = False

        async def send_with_headers(message: Message) -> None:
            nonlocal answering
            if message["type"] == "http.response.start":
                answering = True
                headers = MutableHeaders(scope=message)
                headers["X-Content-Type-Options"] = "nosniff"
                if scope["path"].startswith("/api"):
                    headers["Cache-Control"] = "no-store"
            await send(message)

        with structlog.contextvars.bound_contextvars(method=scope["method"], path=scope["path"]):
            try:
                await self._app(scope, receive, send_with_headers)
            except Exception as error:
                answer = unexpected(error)
                if answering:
                    # Too late for an answer: only a broken connection still says that this failed.
                    raise
                await answer(scope, receive, send_with_headers)
