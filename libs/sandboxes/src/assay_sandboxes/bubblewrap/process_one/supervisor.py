"""What process 1 of a bubblewrap sandbox does: runs commands, moves files for the runner outside.

Requests are packets `operation number` on a socket. They carry file descriptors: the request's
frame (8 bytes of length, that much `marshal`, then bytes), and pipes for what comes out. Each
request but `kill` is answered by `{"op": "exit", "id", "code"}`.
"""

from __future__ import annotations

import json
import marshal
import os
import select
import signal
import socket
from typing import Any, NoReturn

from assay_sandboxes.guest import file_transfer, network_probe, processes


def _read_frame(descriptor: int) -> tuple[dict[str, Any], bytes]:
    with open(descriptor, "rb") as frame:
        length = int.from_bytes(frame.read(8), "little")
        return marshal.loads(frame.read(length)), frame.read()  # noqa: S302 - from the runner


def _shepherd(
    limits: dict[str, int], environment: dict[str, str], frame: int, out: int, err: int
) -> NoReturn:
    """Stay above a command, so that all it starts hangs under one process."""
    processes.adopt_orphans()
    request, _ = _read_frame(frame)
    child = os.fork()
    if child == 0:
        processes.become(
            request["argv"],
            cwd=request["cwd"],
            environment={**environment, "SANDBOX_COMMAND": str(request["number"])},
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
    request, body = _read_frame(frame)
    problems: list[int] = []
    position = 0
    for path, size in request["files"]:
        data = body[position : position + size]
        position += size
        problems.append(file_transfer.put(path, data, request["file_bytes"]))
    file_transfer.write_all(out, repr(problems).encode())


def _get(frame: int, out: int) -> None:
    request, _ = _read_frame(frame)
    for path in request["paths"]:
        problem, data = file_transfer.get(path, request["file_bytes"])
        size = problem.to_bytes(4, "little") + len(data).to_bytes(8, "little")
        file_transfer.write_all(out, size + data)


def _probe(frame: int, out: int) -> None:
    # A runner that is not root reads from this process where it tries to go. Nobody else is here.
    processes.show()
    request, _ = _read_frame(frame)
    seconds: float = request["seconds"]
    addresses = [
        network_probe.try_address(host, port, seconds) for host, port in request["addresses"]
    ]
    names = [network_probe.try_name(name) for name in request["names"]]
    os.write(out, json.dumps({"addresses": addresses, "names": names}).encode())


class _Supervisor:
    def __init__(
        self, control: socket.socket, limits: dict[str, int], environment: dict[str, str]
    ) -> None:
        self._control = control
        self._limits = limits
        self._environment = environment
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
            _shepherd(self._limits, self._environment, *descriptors)
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
        space = socket.CMSG_SPACE(4 * 4)
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
        while True:
            readable, _, _ = select.select([heard, woken], [], [])
            if woken in readable:
                os.read(woken, 4096)
                self._reap()
            if heard in readable:
                self._hear()


def supervise(
    control: socket.socket, limits: dict[str, int], environment: dict[str, str]
) -> NoReturn:
    """Do what comes in on `control`, until the other end is closed."""
    _Supervisor(control, limits, environment).serve()
