"""Requests to the program inside a remote sandbox, and answers that outlive their way back.

A request is `program.py operation request`: JSON in base64, or `@` and the path of a file with it.
The answer is one line of JSON after `assay:`. Whatever has an effect has a name, and asking for a
name again gives the first answer again: an answer that was lost on its way can be asked for, and
nothing is done twice.
"""

from __future__ import annotations

import base64
import json
import sys
import time

from assay_sandboxes.guest import fast_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Answer = dict[str, object]

FOLDER = "/opt/assay/runs"
_POLL_S = 0.02
_LATE_S = 30.0


def answer_once(name: str, seconds: float, work: Callable[[str], None]) -> Answer:
    """Have `work` write an answer into a folder of that name, unless somebody has begun to."""
    folder = f"{FOLDER}/{name}"
    try:
        fast_files.make_folder(folder, 0o700)
    except FileExistsError:
        pass
    else:
        work(folder)
    deadline = time.monotonic() + seconds + _LATE_S
    pause = 0.001
    while time.monotonic() < deadline:
        try:
            answer: Answer = json.loads(fast_files.read_text(folder + "/result"))
        except FileNotFoundError:
            time.sleep(pause)
            pause = min(_POLL_S, 2 * pause)
        else:
            return answer
    return {"failed": "it outlived its own end"}


def write_answer(folder: str, answer: Answer) -> None:
    """Write an answer whole or not at all."""
    fast_files.write_text_whole(folder + "/result", json.dumps(answer))


# Each operation takes the request that `remote/guest_requests.py` has for it.
def serve(operations: Mapping[str, Callable[[Any], Answer]]) -> None:
    """Do what the command line asks for, and print the answer."""
    operation, argument = sys.argv[1:]
    try:
        answer = operations[operation](_request(argument))
    except (OSError, EOFError) as error:
        answer = {"failed": f"{operation}: {error}"}
    sys.stdout.write(f"assay:{json.dumps(answer)}\n")


def _request(argument: str) -> object:
    if argument.startswith("@"):
        return json.loads(fast_files.read_bytes(argument[1:]))
    return json.loads(base64.b64decode(argument))
