"""The program that a remote sandbox is asked through for commands and files.

Where it runs as root, commands run as another user who can neither touch the skills nor what is
written down here; where it does not, only their rights keep the skills as they are.
"""

from __future__ import annotations

import base64
import json
import os

from assay_sandboxes.guest import command_runner, fast_files, file_transfer, processes
from assay_sandboxes.guest.answers import FOLDER, answer_once, serve, write_answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from assay_sandboxes.guest.answers import Answer
    from assay_sandboxes.remote.guest_requests import (
        CallsRequest,
        CommandRequest,
        DropRequest,
        GetRequest,
        KillRequest,
        PutRequest,
    )

_TRANSFER_S = 60.0
_LOG_BYTES = 64 * 1024**2


def _run(request: CommandRequest) -> Answer:
    return answer_once(
        str(request["number"]),
        request["seconds"],
        lambda folder: command_runner.start(request, folder),
    )


def _kill(request: KillRequest) -> Answer:
    folder = f"{FOLDER}/{request['number']}"
    try:
        fast_files.make_folder(folder, 0o700)
    except FileExistsError:
        command_runner.cancel(folder)
        return {"begun": True}
    write_answer(folder, {"failed": "it was cancelled before it began"})
    return {"begun": False}


def _put(request: PutRequest) -> Answer:
    def work(folder: str) -> None:
        if request["frame"] is None:
            body = base64.b64decode(request["body"])
        else:
            body = fast_files.read_bytes(request["frame"])
            fast_files.remove(request["frame"])

        def write() -> Answer:
            return {"problems": file_transfer.put_all(request["files"], body, limit)}

        limit = request["file_bytes"]
        _answer_as_user(request, write, folder)

    return answer_once(str(request["number"]), _TRANSFER_S, work)


def _get(request: GetRequest) -> Answer:
    def work(folder: str) -> None:
        target = os.open(request["frame"], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)

        def read() -> Answer:
            found = []
            for path in request["paths"]:
                problem, data = file_transfer.get(path, request["file_bytes"])
                found.append((problem, len(data)))
                fast_files.write_all(target, data)
            return {"found": found, "size": sum(size for _, size in found)}

        _answer_as_user(request, read, folder)
        os.close(target)

    answer = answer_once(str(request["number"]), _TRANSFER_S, work)
    size = answer.get("size")
    if isinstance(size, int) and size <= request["inline"]:
        body = fast_files.read_bytes(request["frame"])
        return {**answer, "body": base64.b64encode(body).decode()}
    return answer


def _answer_as_user(
    request: PutRequest | GetRequest, work: Callable[[], Answer], folder: str
) -> None:
    """Do something with the rights of commands, and write down what came of it."""
    source, sink = os.pipe()
    worker = os.fork()
    if worker == 0:
        processes.become_user(request["uid"], request["gid"])
        fast_files.write_all(sink, json.dumps(work()).encode())
        os._exit(0)
    os.close(sink)
    with os.fdopen(source) as said:
        answer = said.read()
    os.waitpid(worker, 0)
    write_answer(folder, json.loads(answer or '{"failed": "the transfer was cut short"}'))


def _drop(request: DropRequest) -> Answer:
    if fast_files.exists(request["frame"]):
        fast_files.remove(request["frame"])
    return {}


def _calls(request: CallsRequest) -> Answer:
    """What every command tried to reach: its number, and what was written down.

    Commands can write where `strace` does, so that is read only where nothing better was to be had.
    """
    seen = []
    for name in sorted(filter(str.isdigit, fast_files.names_in(FOLDER)), key=int):
        own = f"{FOLDER}/{name}/calls"
        path = command_runner.STRACE_LOG + name if request["watch"] == "strace" else own
        problem, log = file_transfer.get(path, _LOG_BYTES)
        if not problem:
            seen.append((int(name), log.decode(errors="replace")))
    return {"calls": seen}


def main() -> None:
    serve(
        {
            "run": _run,
            "kill": _kill,
            "put": _put,
            "get": _get,
            "drop": _drop,
            "calls": _calls,
        }
    )
