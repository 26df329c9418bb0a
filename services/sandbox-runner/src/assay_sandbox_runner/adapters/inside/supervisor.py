"""Process 1 of a bubblewrap sandbox: runs commands and moves files for the runner outside.

Requests are packets `operation number` on the socket named by the first argument. They carry file
descriptors: the request's frame (8 bytes of length, that much `marshal`, then bytes), and pipes
for what comes out. Each request but `kill` is answered by `{"op": "exit", "id", "code"}`.

It is started for every sandbox, so it imports only what is quick to import.
"""

from __future__ import annotations

import _socket
import marshal
import os
import select
import sys

from assay_sandbox_runner.adapters.inside import processes

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from typing import Any, NoReturn
else:
    import _signal as signal


def _read_frame(descriptor: int) -> tuple[dict[str, Any], bytes]:
    with open(descriptor, "rb") as frame:
        length = int.from_bytes(frame.read(8), "little")
        return marshal.loads(frame.read(length)), frame.read()  # noqa: S302 - from the runner


def _shepherd(limits: dict[str, int], frame: int, out: int, err: int) -> NoReturn:
    """Stay above a command, so that all it starts hangs under one process."""
    processes.adopt_orphans()
    request, _ = _read_frame(frame)
    child = os.fork()
    if child == 0:
        processes.become(
            request["argv"],
            cwd=request["cwd"],
            environment={**os.environ, "SANDBOX_COMMAND": str(request["number"])},
            out=out,
            err=err,
            prepare=lambda: processes.bound(limits),
        )
    os.closerange(0, 1024)
    while True:
        ended, status = os.wait()
        if ended == child:
            os._exit(processes.exit_code(status))


def _put(frame: int, out: int) -> None:
    from assay_sandbox_runner.adapters.inside import files  # noqa: PLC0415

    request, body = _read_frame(frame)
    problems: list[int] = []
    position = 0
    for path, size in request["files"]:
        data = body[position : position + size]
        position += size
        problems.append(files.put(path, data, request["file_bytes"]))
    files.write_all(out, repr(problems).encode())


def _get(frame: int, out: int) -> None:
    from assay_sandbox_runner.adapters.inside import files  # noqa: PLC0415

    request, _ = _read_frame(frame)
    for path in request["paths"]:
        problem, data = files.get(path, request["file_bytes"])
        size = problem.to_bytes(4, "little") + len(data).to_bytes(8, "little")
        files.write_all(out, size + data)


def _probe(frame: int, out: int) -> None:
    from assay_sandbox_runner.adapters.inside import probing  # noqa: PLC0415

    request, _ = _read_frame(frame)
    seconds: float = request["seconds"]
    addresses = [probing.try_address(host, port, seconds) for host, port in request["addresses"]]
    names = [probing.try_name(name) for name in request["names"]]
    os.write(out, _json({"addresses": addresses, "names": names}).encode())


def _json(seen: dict[str, list[str]]) -> str:
    # Error names and messages of the C library: nothing to escape, and no `json` to wait for.
    parts = ('"%s": [%s]' % (k, ", ".join('"%s"' % v for v in seen[k])) for k in seen)  # noqa: UP031
    return "{" + ", ".join(parts) + "}"


class _Supervisor:
    def __init__(self, control: _socket.socket, limits: dict[str, int]) -> None:
        self._control = control
        self._limits = limits
        self._jobs: dict[int, int] = {}

    def _say(self, message: str) -> None:
        # Not `send`, which the system call filter would make wait for the runner.
        os.write(self._control.fileno(), message.encode())

    def _say_exit(self, number: int, code: int) -> None:
        self._say('{"op": "exit", "id": %d, "code": %d}' % (number, code))  # noqa: UP031

    def _work(self, operation: str, descriptors: list[int]) -> NoReturn:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        if operation == "run":
            _shepherd(self._limits, *descriptors)
        try:
            {"put": _put, "get": _get, "probe": _probe}[operation](*descriptors)
        except OSError as error:
            os._exit(error.errno or 1)
        os._exit(0)

    def _start(self, operation: str, number: int, descriptors: list[int]) -> None:
        try:
            process = os.fork()
        except OSError:
            return self._say_exit(number, processes.CANNOT_RUN)
        if process == 0:
            self._control.close()
            self._work(operation, descriptors)
        self._jobs[process] = number
        return None

    def _kill(self, number: int) -> None:
        for process, job in self._jobs.items():
            if job == number:
                if not processes.kill_tree(process):
                    os.kill(-1, signal.SIGKILL)
                # A shepherd ends with its command; a file job is its own process.
                if not processes.descendants(process):
                    processes.signal_all({process}, signal.SIGKILL)

    def _quiesce(self, number: int) -> None:
        if self._jobs or processes.descendants(os.getpid()):
            os.kill(-1, signal.SIGKILL)
            self._reap(wait=True)
        self._say_exit(number, 0)

    def _reap(self, *, wait: bool = False) -> None:
        while True:
            try:
                process, status = os.waitpid(-1, 0 if wait else os.WNOHANG)
            except ChildProcessError:
                return
            if process == 0:
                return
            number = self._jobs.pop(process, None)
            if number is not None:
                self._say_exit(number, processes.exit_code(status))

    def _hear(self) -> None:
        space = _socket.CMSG_SPACE(4 * 4)
        data, ancillary, _, _ = self._control.recvmsg(4096, space)
        if not data:
            os._exit(0)
        descriptors = [
            int.from_bytes(content[start : start + 4], "little")
            for _, _, content in ancillary
            for start in range(0, len(content) - 3, 4)
        ]
        operation, _, number = data.decode().partition(" ")
        if operation == "kill":
            self._kill(int(number))
        elif operation == "quiesce":
            self._quiesce(int(number))
        else:
            self._start(operation, int(number), descriptors)
        for descriptor in descriptors:
            os.close(descriptor)

    def serve(self) -> NoReturn:
        woken, wake = os.pipe()
        os.set_blocking(woken, False)
        os.set_blocking(wake, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        heard = self._control.fileno()
        self._say('{"op": "ready"}')
        while True:
            readable, _, _ = select.select([heard, woken], [], [])
            if woken in readable:
                os.read(woken, 4096)
                self._reap()
            if heard in readable:
                self._hear()


def main() -> None:
    control = _socket.socket(fileno=int(sys.argv[1]))
    os.set_inheritable(control.fileno(), False)
    # As process 1 it takes only signals that it handles, and it handles none from inside.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    processes.hide()
    nothing = os.open("/dev/null", os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    os.closerange(3, control.fileno())
    os.closerange(control.fileno() + 1, 1024)
    limits = (pair.split("=") for pair in sys.argv[2].split(","))
    _Supervisor(control, {name: int(value) for name, value in limits}).serve()
