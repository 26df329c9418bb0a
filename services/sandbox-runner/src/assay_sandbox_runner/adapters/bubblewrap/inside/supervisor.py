"""Process 1 of a sandbox: runs commands and moves files for the runner outside.

Requests are packets `{"op", "id"}` on the socket named by the first argument. They carry file
descriptors: the request's frame (8 bytes of length, that much JSON, then bytes), and pipes for
what comes out. Each request but `kill` is answered by `{"op": "exit", "id", "code"}`.

The machine's Python may be older than the runner's, so the code is plain.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import resource
import select
import signal
import socket
import stat
import struct
import sys
import time
from typing import Any, NoReturn

_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36
_FREEZE_ROUNDS = 200
_CANNOT_RUN = 126
_DEATH_S = 5.0

_libc = ctypes.CDLL(None, use_errno=True)


def _read_frame(descriptor: int) -> tuple[dict[str, Any], bytes]:
    with open(descriptor, "rb") as frame:
        (length,) = struct.unpack("<Q", frame.read(8))
        return json.loads(frame.read(length)), frame.read()


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


# Commands ---------------------------------------------------------------------------------------


def _limit(limits: dict[str, int]) -> None:
    memory = limits["memory_bytes"]
    for what, value in (
        (resource.RLIMIT_DATA, memory),
        # Some runtimes reserve far more address space than they use.
        (resource.RLIMIT_AS, 16 * memory),
        (resource.RLIMIT_NPROC, limits["processes"]),
        (resource.RLIMIT_FSIZE, limits["file_bytes"]),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (value, value))
    # Memory that runs out is taken from commands, not from the supervisor.
    _libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)
    with open("/proc/self/oom_score_adj", "w") as score:  # noqa: PTH123
        score.write("500")


def _command(request: dict[str, Any], out: int, err: int, limits: dict[str, int]) -> NoReturn:
    os.setsid()
    os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.closerange(3, 1024)
    for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    argv: list[str] = request["argv"]
    try:
        os.chdir(request["cwd"])
        _limit(limits)
        os.execve(argv[0], argv, {**os.environ, "SANDBOX_COMMAND": str(request["number"])})  # noqa: S606
    except (OSError, ValueError) as error:
        os.write(2, ("cannot run the command: %s\n" % error).encode())  # noqa: UP031
    os._exit(_CANNOT_RUN)


def _shepherd(limits: dict[str, int], frame: int, out: int, err: int) -> NoReturn:
    """Stay above a command, so that all it starts, however detached, hangs under one process."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    request, _ = _read_frame(frame)
    child = os.fork()
    if child == 0:
        _command(request, out, err, limits)
    os.closerange(0, 1024)
    while True:
        ended, status = os.wait()
        if ended == child:
            os._exit(_exit_code(status))


def _exit_code(status: int) -> int:
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)


def _descendants(root: int) -> set[int]:
    found: set[int] = set()
    pending = [root]
    while pending:
        folder = "/proc/%d/task" % pending.pop()  # noqa: UP031
        try:
            for thread in os.listdir(folder):  # noqa: PTH208
                with open(folder + "/" + thread + "/children") as children:  # noqa: PTH123
                    new = {int(child) for child in children.read().split()} - found
                found |= new
                pending += new
        except OSError:
            continue
    return found


def _signal_all(processes: set[int], number: int) -> None:
    for process in processes:
        try:
            os.kill(process, number)
        except ProcessLookupError:
            continue


def _is_alive(process: int) -> bool:
    try:
        with open("/proc/%d/stat" % process) as status:  # noqa: PTH123, UP031
            return status.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def _kill_tree(shepherd: int) -> None:
    """End all that a command started, and return when it has ended.

    Freeze first: a frozen process starts no other, so none is missed.
    """
    frozen: set[int] = set()
    for _ in range(_FREEZE_ROUNDS):
        new = _descendants(shepherd) - frozen
        if not new:
            _signal_all(frozen, signal.SIGKILL)
            deadline = time.monotonic() + _DEATH_S
            while any(map(_is_alive, frozen)) and time.monotonic() < deadline:
                time.sleep(0.001)
            return
        _signal_all(new, signal.SIGSTOP)
        frozen |= new
    os.kill(-1, signal.SIGKILL)


# Files ------------------------------------------------------------------------------------------


def _put_one(path: str, data: bytes) -> int:
    if not path.startswith("/"):
        return errno.EINVAL
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
        # A pipe that nobody reads must not keep us waiting.
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK
        target = os.open(path, flags, 0o644)
        try:
            if not stat.S_ISREG(os.fstat(target).st_mode):
                return errno.EINVAL
            _write_all(target, data)
        finally:
            os.close(target)
    except OSError as error:
        return error.errno or errno.EIO
    except ValueError:
        return errno.EINVAL
    return 0


def _get_one(path: str, limit: int) -> tuple[int, bytes]:
    if not path.startswith("/"):
        return errno.EINVAL, b""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:  # noqa: PTH123
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return errno.EINVAL, b""
            data = file.read(limit + 1)
    except OSError as error:
        return error.errno or errno.EIO, b""
    except ValueError:
        return errno.EINVAL, b""
    return (errno.EFBIG, b"") if len(data) > limit else (0, data)


def _put(frame: int, out: int) -> None:
    request, body = _read_frame(frame)
    limit: int = request["file_bytes"]
    problems: list[int] = []
    position = 0
    for path, size in request["files"]:
        data = body[position : position + size]
        position += size
        problems.append(errno.EFBIG if size > limit else _put_one(path, data))
    _write_all(out, json.dumps(problems).encode())


def _get(frame: int, out: int) -> None:
    request, _ = _read_frame(frame)
    limit: int = request["file_bytes"]
    for path in request["paths"]:
        problem, data = _get_one(path, limit)
        _write_all(out, struct.pack("<iq", problem, len(data)) + data)


# Probe ------------------------------------------------------------------------------------------


def _try_address(host: str, port: int, seconds: float) -> str:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as caller:
            caller.settimeout(seconds)
            caller.connect((host, port))
    except socket.timeout:  # noqa: UP041 - its name before 3.10
        return "timeout"
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error))
    return "connected"


def _try_name(name: str) -> str:
    try:
        socket.getaddrinfo(name, 80, 0, socket.SOCK_STREAM)
    except socket.gaierror as error:
        return "not resolved (%s)" % error.strerror  # noqa: UP031
    return "resolved"


def _probe(frame: int, out: int) -> None:
    request, _ = _read_frame(frame)
    seconds: float = request["seconds"]
    seen = {
        "addresses": [_try_address(host, port, seconds) for host, port in request["addresses"]],
        "names": [_try_name(name) for name in request["names"]],
    }
    _write_all(out, json.dumps(seen).encode())


# Serving ----------------------------------------------------------------------------------------


class _Supervisor:
    def __init__(self, control: socket.socket, limits: dict[str, int]) -> None:
        self._control = control
        self._limits = limits
        self._jobs: dict[int, int] = {}

    def _say(self, message: dict[str, Any]) -> None:
        # Not `send`, which the system call filter would make wait for the runner.
        os.write(self._control.fileno(), json.dumps(message).encode())

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
            return self._say({"op": "exit", "id": number, "code": _CANNOT_RUN})
        if process == 0:
            self._control.close()
            self._work(operation, descriptors)
        self._jobs[process] = number
        return None

    def _kill(self, number: int) -> None:
        for process, job in self._jobs.items():
            if job == number:
                _kill_tree(process)
                # A shepherd ends with its command; a file job is its own process.
                if not _descendants(process):
                    _signal_all({process}, signal.SIGKILL)

    def _quiesce(self, number: int) -> None:
        if self._jobs or _descendants(os.getpid()):
            os.kill(-1, signal.SIGKILL)
            self._reap(wait=True)
        self._say({"op": "exit", "id": number, "code": 0})

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
                self._say({"op": "exit", "id": number, "code": _exit_code(status)})

    def _hear(self) -> None:
        space = socket.CMSG_SPACE(4 * 4)
        data, ancillary, _, _ = self._control.recvmsg(4096, space)
        if not data:
            os._exit(0)
        descriptors = [
            descriptor
            for _, _, content in ancillary
            for (descriptor,) in struct.iter_unpack("i", content[: len(content) // 4 * 4])
        ]
        request = json.loads(data)
        operation, number = str(request["op"]), int(request["id"])
        if operation == "kill":
            self._kill(number)
        elif operation == "quiesce":
            self._quiesce(number)
        else:
            self._start(operation, number, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)

    def serve(self) -> NoReturn:
        woken, wake = os.pipe()
        os.set_blocking(woken, False)
        os.set_blocking(wake, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        heard = self._control.fileno()
        self._say({"op": "ready"})
        while True:
            readable, _, _ = select.select([heard, woken], [], [])
            if woken in readable:
                os.read(woken, 4096)
                self._reap()
            if heard in readable:
                self._hear()


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    control.set_inheritable(False)
    # As process 1 it takes only signals that it handles, and it handles none from inside.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What runs under the same user id must not look into this process or take its descriptors.
    _libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    nothing = os.open("/dev/null", os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    os.closerange(3, control.fileno())
    os.closerange(control.fileno() + 1, 1024)
    _Supervisor(control, json.loads(sys.argv[2])).serve()


if __name__ == "__main__":
    main()
