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
from typing import Any, NoReturn, TypedDict

from assay_sandboxes.guest import fast_files, file_transfer, network_probe, processes

_NICENESS = 10


class CommandFrame(TypedDict):
    """A program to run."""

    argv: list[str]
    cwd: str
    number: int


class PutFrame(TypedDict):
    """Files to write; their contents stand one after another behind this."""

    files: list[tuple[str, int]]
    """Path and size of each."""
    file_bytes: int


class GetFrame(TypedDict):
    """Files to read."""

    paths: list[str]
    file_bytes: int


class ProbeFrame(TypedDict):
    """Where to try to go."""

    addresses: list[tuple[str, int]]
    names: list[str]
    seconds: float


Frame = CommandFrame | PutFrame | GetFrame


# Which of the frames it is, the operation tells.
def _read_frame(descriptor: int) -> tuple[Any, bytes]:
    """What is asked, and the bytes behind it."""
    with open(descriptor, "rb") as frame:
        length = int.from_bytes(frame.read(8), "little")
        return marshal.loads(frame.read(length)), frame.read()  # noqa: S302  # from the runner


def _prepare(limits: dict[str, int]) -> None:
    processes.apply_limits(limits)
    # However many there are, process 1 has its turn among them.
    os.nice(_NICENESS)


def _run_command(
    limits: dict[str, int], environment: dict[str, str], frame: int, out: int, err: int
) -> NoReturn:
    """Run a command and stay above it, so that all it starts hangs under one process."""
    processes.adopt_orphans()
    request: CommandFrame = _read_frame(frame)[0]
    child = os.fork()
    if child == 0:
        processes.become_command(
            request["argv"],
            cwd=request["cwd"],
            environment={**environment, "SANDBOX_COMMAND": str(request["number"])},
            out=out,
            err=err,
            prepare=lambda: _prepare(limits),
        )
    os.closerange(0, 1024)
    while True:
        ended, status = os.wait()
        if ended == child:
            os._exit(processes.exit_code(status))


def _put(frame: int, out: int) -> None:
    request: PutFrame
    request, body = _read_frame(frame)
    problems = file_transfer.put_all(request["files"], body, request["file_bytes"])
    fast_files.write_all(out, json.dumps(problems).encode())


def _get(frame: int, out: int) -> None:
    request: GetFrame = _read_frame(frame)[0]
    for path in request["paths"]:
        problem, data = file_transfer.get(path, request["file_bytes"])
        size = problem.to_bytes(4, "little") + len(data).to_bytes(8, "little")
        fast_files.write_all(out, size + data)


def try_to_get_out(probe: ProbeFrame) -> dict[str, list[str]]:
    """What came of each address and of each name."""
    seconds = probe["seconds"]
    return {
        "addresses": [
            network_probe.try_address(host, port, seconds) for host, port in probe["addresses"]
        ],
        "names": [network_probe.try_name(name) for name in probe["names"]],
    }


class _Supervisor:
    def __init__(
        self, control: socket.socket, limits: dict[str, int], environment: dict[str, str]
    ) -> None:
        self._control = control
        self._limits = limits
        self._environment = environment
        self._jobs: dict[int, int] = {}
        """The number of the request that a process works on."""
        self._worked: dict[int, float] = {}
        """For requests that were ended: the processor's time that they had taken, in seconds."""

    def _say_exit(self, number: int, code: int) -> None:
        worked = self._worked.pop(number, None)
        message = json.dumps({"op": "exit", "id": number, "code": code, "worked": worked})
        # Not `send`, which the system call filter would make wait for the runner.
        os.write(self._control.fileno(), message.encode())

    def _work(self, operation: str, descriptors: list[int]) -> NoReturn:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        if operation == "run":
            _run_command(self._limits, self._environment, *descriptors)
        try:
            {"put": _put, "get": _get}[operation](*descriptors)
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
                started = processes.descendants(process)
                self._worked[number] = processes.processor_seconds(started)
                if not processes.kill_tree(process):
                    os.kill(-1, signal.SIGKILL)
                # What runs a command ends with it; what moves files is its own process.
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
        woken = processes.wake_on_ended_children()
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
