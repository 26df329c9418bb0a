"""The way into the gateway, asked without a port and with nothing behind it."""

from collections.abc import Sequence
from dataclasses import dataclass

import httpx
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from assay_gateway.adapters.http.admin import caller_of
from assay_gateway.domain.callers import Caller
from assay_servicekit.service import Service, asgi

Headers = Sequence[tuple[bytes, bytes]]


def bearer(token: str | bytes) -> Headers:
    shown = token.encode() if isinstance(token, str) else token
    return [(b"authorization", b"Bearer " + shown)]


def header(value: str) -> Headers:
    return [(b"authorization", value.encode("latin-1"))]


@dataclass
class Answer:
    status: int
    headers: httpx.Headers
    body: bytes


class Entrance:
    """The gateway with nothing behind its gate but a note of who came through."""

    def __init__(self, service: Service) -> None:
        self._app = asgi(service)
        self._app.router.middleware_stack = self._inside
        self.entered: list[Caller] = []

    async def ask(self, method: str, path: str, headers: Headers) -> Answer:
        sent: list[Message] = []

        async def receive() -> Message:
            raise AssertionError("the body was read")

        async def send(message: Message) -> None:
            sent.append(message)

        scope: Scope = {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": list(headers),
            "client": ("192.0.2.1", 5000),
            "server": ("127.0.0.1", 8002),
        }
        await self._app(scope, receive, send)
        start, *bodies = sent
        return Answer(
            start["status"],
            httpx.Headers(start["headers"]),
            b"".join(message.get("body", b"") for message in bodies),
        )

    async def _inside(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.entered.append(caller_of(scope))
        await Response(status_code=204)(scope, receive, send)
