"""What a sandbox of somebody else's is asked through: `cell.py operation request`.

The request is JSON in base64, or `@` and the path of a file with it. The answer is one line of
JSON after `assay:`. Where it runs as root, commands run as another user who can neither touch the
skills nor what is written down here; where it does not, only their rights keep the skills as they
are.

A command has a number, and asking for a number again gives the first answer again: an answer that
was lost on its way can be asked for, and no command runs twice.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import time

from assay_sandboxes.guest import command_runner, file_transfer, processes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_RUNS = "/opt/assay/runs"
_POLL_S = 0.02
_LATE_S = 30.0
_TRANSFER_S = 60.0
_LOG_BYTES = 64 * 1024**2


def _once(name: str, seconds: float, work: Callable[[str], None]) -> dict[str, Any]:
    """Have `work` write a result into a folder of that name, unless somebody has begun to."""
    folder = _RUNS + "/" + name
    try:
        os.mkdir(folder, 0o700)  # noqa: PTH102
    except FileExistsError:
        pass
    else:
        work(folder)
    deadline = time.monotonic() + seconds + _LATE_S
    pause = 0.001
    while time.monotonic() < deadline:
        try:
            with open(folder + "/result") as result:  # noqa: PTH123
                answer: dict[str, Any] = json.load(result)
                return answer
        except FileNotFoundError:
            time.sleep(pause)
            pause = min(_POLL_S, 2 * pause)
    return {"failed": "it outlived its own end"}


def _by_agent(request: dict[str, Any], work: Callable[[], dict[str, Any]], folder: str) -> None:
    """Do something with the rights of commands, and write down what came of it."""
    source, sink = os.pipe()
    worker = os.fork()
    if worker == 0:
        processes.become_user(request["uid"], request["gid"])
        file_transfer.write_all(sink, json.dumps(work()).encode())
        os._exit(0)
    os.close(sink)
    with open(source) as said:  # noqa: PTH123
        answer = said.read()
    os.waitpid(worker, 0)
    command_runner.write_result(
        folder, answer or json.dumps({"failed": "the transfer was cut short"})
    )


def _run(request: dict[str, Any]) -> dict[str, Any]:
    return _once(
        str(request["number"]),
        request["seconds"],
        lambda folder: command_runner.start(request, folder),
    )


def _kill(request: dict[str, Any]) -> dict[str, Any]:
    folder = _RUNS + "/" + str(request["number"])
    try:
        os.mkdir(folder, 0o700)  # noqa: PTH102
    except FileExistsError:
        command_runner.cancel(folder)
        return {"begun": True}
    command_runner.write_result(folder, json.dumps({"failed": "it was cancelled before it began"}))
    return {"begun": False}


def _put(request: dict[str, Any]) -> dict[str, Any]:
    def work(folder: str) -> None:
        if request["frame"] is None:
            body = base64.b64decode(request["body"])
        else:
            with open(request["frame"], "rb") as frame:  # noqa: PTH123
                body = frame.read()
            os.unlink(request["frame"])  # noqa: PTH108

        def write() -> dict[str, Any]:
            problems, position = [], 0
            for path, size in request["files"]:
                data = body[position : position + size]
                problems.append(file_transfer.put(path, data, request["file_bytes"]))
                position += size
            return {"problems": problems}

        _by_agent(request, write, folder)

    return _once(str(request["number"]), _TRANSFER_S, work)


def _get(request: dict[str, Any]) -> dict[str, Any]:
    def work(folder: str) -> None:
        target = os.open(request["frame"], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)

        def read() -> dict[str, Any]:
            found = []
            for path in request["paths"]:
                problem, data = file_transfer.get(path, request["file_bytes"])
                found.append((problem, len(data)))
                file_transfer.write_all(target, data)
            return {"found": found}

        _by_agent(request, read, folder)
        os.close(target)

    answer = _once(str(request["number"]), _TRANSFER_S, work)
    if sum(size for _, size in answer.get("found", ())) <= request["inline"]:
        with open(request["frame"], "rb") as frame:  # noqa: PTH123
            answer["body"] = base64.b64encode(frame.read()).decode()
    return answer


def _drop(request: dict[str, Any]) -> dict[str, Any]:
    """Remove a frame that has been read."""
    if os.path.exists(request["frame"]):  # noqa: PTH110
        os.unlink(request["frame"])  # noqa: PTH108
    return {}


def _calls(request: dict[str, Any]) -> dict[str, Any]:
    """What every command tried to reach: its number, and what was written down.

    Commands can write where `strace` does, so that is read only where nothing better was to be had.
    """
    seen = []
    for name in sorted(filter(str.isdigit, os.listdir(_RUNS)), key=int):  # noqa: PTH208
        own = _RUNS + "/" + name + "/calls"
        path = command_runner.TRACE + name if request["watch"] == "strace" else own
        problem, log = file_transfer.get(path, _LOG_BYTES)
        if not problem:
            seen.append((int(name), log.decode(errors="replace")))
    return {"calls": seen}


def _prepare(request: dict[str, Any]) -> dict[str, Any]:
    from assay_sandboxes.guest import workspace  # noqa: PLC0415 - slow, and done once

    workspace.make_places()
    return _once(
        "prepare-" + request["token"], _TRANSFER_S, lambda mine: workspace.lay_out(request, mine)
    )


def _quiesce(_: dict[str, Any]) -> dict[str, Any]:
    from assay_sandboxes.guest import workspace  # noqa: PLC0415

    workspace.clear_away()
    return {}


_OPERATIONS = {
    "prepare": _prepare,
    "run": _run,
    "kill": _kill,
    "quiesce": _quiesce,
    "put": _put,
    "get": _get,
    "drop": _drop,
    "calls": _calls,
}


def _request(argument: str) -> dict[str, Any]:
    if argument.startswith("@"):
        with open(argument[1:], "rb") as file:  # noqa: PTH123
            request: dict[str, Any] = json.load(file)
        return request
    decoded: dict[str, Any] = json.loads(base64.b64decode(argument))
    return decoded


def main() -> None:
    operation, argument = sys.argv[1:]
    try:
        answer = _OPERATIONS[operation](_request(argument))
    except (OSError, EOFError) as error:
        answer = {"failed": "%s: %s" % (operation, error)}  # noqa: UP031
    print("assay:" + json.dumps(answer))  # noqa: T201
