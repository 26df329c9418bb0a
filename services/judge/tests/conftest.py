"""A language model's server on loopback, as OpenAI-compatible endpoints have it."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


@dataclass
class ModelServer:
    """Answers each request with what `script` makes of it: a status and a JSON body."""

    url: str = ""
    script: Callable[[dict[str, Any]], tuple[int, object]] = lambda _: (500, {"error": "unset"})
    requests: list[dict[str, Any]] = field(default_factory=list)

    def calls_tool(self, name: str, arguments: object, *, raw: str | None = None) -> object:
        """A completion in which the model calls a tool."""
        text = json.dumps(arguments) if raw is None else raw
        call = {
            "id": f"call_{len(self.requests)}",
            "type": "function",
            "function": {"name": name, "arguments": text},
        }
        return self.completion({"role": "assistant", "content": None, "tool_calls": [call]})

    def completion(self, message: dict[str, object]) -> object:
        return {
            "id": "x",
            "object": "chat.completion",
            "created": 0,
            "model": "test-model",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
        }


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that hang up on a slow answer are what some tests are about."""


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    served = ModelServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            served.requests.append(body)
            status, answer = served.script(body)
            data = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Keep quiet."""

    server = _Server(("127.0.0.1", 0), Handler)
    served.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
