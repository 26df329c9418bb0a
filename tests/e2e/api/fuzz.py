"""Runs schemathesis as its command would run, made fit for this API and for CPython 3.11.

- `ast.parse` fails now and then in CPython 3.11 ("AST constructor recursion depth mismatch", when a
  garbage collection falls into it); hypothesis needs it only to describe lambdas. It tries again.
- A stream of events need not end: its beginning is what is checked.
- Half of all skill ids and full tests asked about are ones that exist.
- No Idempotency-Key is used for two requests, as its description asks.

KNOWN_SKILLS and KNOWN_FULL_TESTS hold their ids, with commas between.
"""

import ast
import gc
import os
import re
import sys
from typing import Any
from uuid import UUID, uuid4

import requests
import schemathesis
from requests.adapters import HTTPAdapter
from schemathesis.cli import schemathesis as command

TRIES = 5
STREAM = "text/event-stream"
KEY = "Idempotency-Key"
ALLOWED_KEY = re.compile(r"[\x21-\x7e]{1,200}")

_parse = ast.parse
_send = HTTPAdapter.send
_known = {
    "skill_id": os.environ.get("KNOWN_SKILLS", "").split(","),
    "full_test_id": os.environ.get("KNOWN_FULL_TESTS", "").split(","),
}


def parse(*args: Any, **kwargs: Any) -> Any:
    for _ in range(TRIES):
        gc.disable()
        try:
            return _parse(*args, **kwargs)
        except SystemError:
            continue
        finally:
            gc.enable()
    raise SyntaxError("CPython could not parse this, whatever it is")


def send(self: HTTPAdapter, request: requests.PreparedRequest, **kwargs: Any) -> requests.Response:
    kwargs["stream"] = True
    key = request.headers.get(KEY)
    if isinstance(key, str) and ALLOWED_KEY.fullmatch(key):
        # As long as it was, or longer where that leaves no room: its length may be what is tried.
        unique = uuid4().hex
        request.headers[KEY] = unique + key[len(unique) :]
    response = _send(self, request, **kwargs)
    if response.headers.get("Content-Type", "").startswith(STREAM):
        chunks = response.iter_content(None)
        response._content = next(chunks, b"")
        response.close()
    return response


@schemathesis.hook
def map_path_parameters(_: Any, path_parameters: dict[str, Any] | None) -> dict[str, Any] | None:
    for name, known in _known.items():
        try:
            number = UUID(str((path_parameters or {}).get(name))).int
        except ValueError:
            continue
        if path_parameters and number % 2 and known[0]:
            path_parameters[name] = known[number // 2 % len(known)]
    return path_parameters


if __name__ == "__main__":
    ast.parse = parse
    setattr(HTTPAdapter, "send", send)  # noqa: B010  # its own type is longer than it
    sys.exit(command())
