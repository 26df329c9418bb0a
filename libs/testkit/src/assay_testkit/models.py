"""A language model's server on loopback, as OpenAI-compatible endpoints have it, for tests."""

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage, convert_to_messages
from typing_extensions import override

from assay_rehearsal.conversation import Policy, Reply, Turn

_EXIT_CODE: Final = re.compile(r"\[Command (?:succeeded|failed) with exit code (-?\d+)\]")
_INPUT_TOKENS: Final = 100
_OUTPUT_TOKENS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the server sends back."""

    body: object
    """Text goes out as it is, anything else as JSON."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    cut_after: int | None = None
    """Hang up after so many bytes of the body, of which the whole was announced."""
    after: threading.Event | None = None
    """Wait for this first."""


Request = dict[str, Any]
"""What a client sent, as JSON."""
Script = Callable[[Request], Answer]


@dataclass(slots=True)
class ModelServer:
    """Answers each request with what `script` makes of it."""

    url: str = ""
    script: Script = lambda _: Answer(body={"error": "nothing was set"}, status=500)
    requests: list[Request] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    """What each request gave as its authorization."""
    closing: threading.Event = field(default_factory=threading.Event)
    """Set when the server goes away: what an answer that never comes can wait for."""


def completion(
    message: Mapping[str, object], *, usage: bool = True, finish_reason: str = "stop"
) -> Answer:
    """A whole answer with this message of the assistant."""
    body: dict[str, object] = {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "test-model",
        "choices": [{"index": 0, "finish_reason": finish_reason, "message": dict(message)}],
    }
    if usage:
        body["usage"] = {
            "prompt_tokens": _INPUT_TOKENS,
            "completion_tokens": _OUTPUT_TOKENS,
            "total_tokens": _INPUT_TOKENS + _OUTPUT_TOKENS,
        }
    return Answer(body=body)


def says(text: str) -> Answer:
    """The model answers in words."""
    return completion({"role": "assistant", "content": text})


def refuses() -> Answer:
    """The model will not, in the provider's own way of saying so."""
    refusal = {"role": "assistant", "content": None, "refusal": "I cannot help with that."}
    return completion(refusal)


def calls_tool(
    name: str, arguments: object = None, *, raw: str | None = None, number: int = 0
) -> Answer:
    """The model calls a tool; `raw` stands for arguments that are no JSON."""
    call = {
        "id": f"call_{number}",
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments) if raw is None else raw},
    }
    return completion({"role": "assistant", "content": None, "tool_calls": [call]})


def tools_offered(request: Request) -> tuple[str, ...]:
    return tuple(tool["function"]["name"] for tool in request.get("tools") or ())


def tool_results(request: Request) -> list[str]:
    """What tools answered in this conversation, oldest first."""
    return [str(m["content"]) for m in request["messages"] if m["role"] == "tool"]


def answered_by(policy: Policy) -> Script:
    """A server whose model is a policy: what the rehearsal model would say, over HTTP."""

    def script(request: Request) -> Answer:
        messages = _messages(request["messages"])
        reply = policy(Turn(messages=tuple(messages), tools=tools_offered(request)))
        turn = sum(isinstance(message, AIMessage) for message in messages)
        return _reply(reply, turn)

    return script


def _messages(raw: Sequence[Request]) -> list[BaseMessage]:
    """The conversation with what HTTP leaves out put back: names of tools, exit codes."""
    messages = convert_to_messages(raw)
    names = {
        call["id"]: call["name"]
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
    }
    return [
        message.model_copy(
            update={
                "name": names.get(message.tool_call_id),
                "artifact": _artifact(str(message.text)),
                "status": "error" if str(message.text).startswith("Error") else "success",
            }
        )
        if isinstance(message, ToolMessage)
        else message
        for message in messages
    ]


def _artifact(text: str) -> dict[str, int] | None:
    codes = _EXIT_CODE.findall(text)
    return {"exit_code": int(codes[-1])} if codes else None


def _reply(reply: Reply, turn: int) -> Answer:
    message: dict[str, object] = {"role": "assistant", "content": reply.text}
    if reply.calls:
        message["tool_calls"] = [
            {
                "id": f"call_{turn}_{index}",
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments))},
            }
            for index, call in enumerate(reply.calls)
        ]
    return completion(message)


class _QuietServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that hang up on a slow answer are what some tests are about."""


@contextmanager
def running_model_server(script: Script | None = None) -> Iterator[ModelServer]:
    """A server on a port of its own, gone afterwards."""
    served = ModelServer()
    if script is not None:
        served.script = script

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            served.requests.append(request)
            served.keys.append(self.headers.get("Authorization", ""))
            self._send(served.script(request))

        def _send(self, answer: Answer) -> None:
            if answer.after is not None:
                answer.after.wait()
            body = answer.body
            data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
            self.send_response(answer.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data[: answer.cut_after])
            self.close_connection = answer.cut_after is not None

        @override
        def log_message(self, format: str, *args: object) -> None:
            """Keep quiet."""

    server = _QuietServer(("127.0.0.1", 0), Handler)
    served.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield served
    finally:
        served.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()
