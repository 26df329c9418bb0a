"""A gateway that answers as it is told to, for tests of the command."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final, NamedTuple

JSON: Final = "application/json"

Answer = tuple[int, str, bytes]
"""Status, content type, body."""


class Request(NamedTuple):
    method: str
    path: str
    """With its query, below /api/admin."""
    authorization: str
    last_event_id: str | None
    body: bytes


class ScriptedGateway:
    """Answers each path with what the test put there; a stream may end before its last word."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self._answers: dict[tuple[str, str], list[Answer]] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def uploaded(self) -> bytes:
        """The body of the last upload."""
        return next(r.body for r in reversed(self.requests) if r.path == "/skills/upload")

    def sent(self) -> list[tuple[str, str]]:
        """What was asked, in order: method and path."""
        return [(request.method, request.path) for request in self.requests]

    def on(self, method: str, path: str, *answers: Answer) -> None:
        """Each answer is used once, and the last for ever."""
        self._answers[method, path] = list(answers)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        gateway = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer()

            def do_POST(self) -> None:
                self._answer()

            def do_DELETE(self) -> None:
                self._answer()

            def _answer(self) -> None:
                path = self.path.removeprefix("/api/admin")
                body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                gateway.requests.append(
                    Request(
                        self.command,
                        path,
                        self.headers["Authorization"],
                        self.headers.get("Last-Event-ID"),
                        body,
                    )
                )
                status, kind, content = gateway._next_answer(self.command, path)
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        return Handler

    def _next_answer(self, method: str, path: str) -> Answer:
        left = self._answers.get((method, path))
        if not left:
            return 404, JSON, b"{}"
        return left.pop(0) if len(left) > 1 else left[0]


@contextmanager
def scripted_gateway() -> Iterator[ScriptedGateway]:
    gateway = ScriptedGateway()
    try:
        yield gateway
    finally:
        gateway.close()
