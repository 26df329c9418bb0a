"""Keeping a command: a process above it bounds it, watches it and writes down what came of it.

The keeper outlives whoever asked for the command, and the command: what the command leaves running
goes on, watched, under the keeper until it ends.
"""

from __future__ import annotations

import base64
import json
import os
import select
import signal
import socket
import time

from assay_sandboxes.guest import processes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from assay_sandboxes.guest.network_listener import Listener

TRACE = "/tmp/.assay-trace-"  # noqa: S108
"""Where `strace` writes, which has no more rights than the command."""

_CHUNK = 256 * 1024
_LAST_LOOK_BYTES = 1024 * 1024
_DEATH_S = 5.0


def write_result(folder: str, answer: str) -> None:
    """Write a result whole or not at all."""
    with open(folder + "/.result", "w") as result:  # noqa: PTH123
        result.write(answer)
    os.rename(folder + "/.result", folder + "/result")  # noqa: PTH104


def start(request: dict[str, Any], folder: str) -> None:
    """Start a command under a keeper of its own; the result comes into `folder`."""
    if os.fork() == 0:
        try:
            _Keeper(request, folder).keep()
        except BaseException as error:  # noqa: BLE001 - nobody else hears of it
            write_result(folder, json.dumps({"failed": "the keeper: %r" % error}))  # noqa: UP031
        os._exit(0)


def cancel(folder: str) -> None:
    """End a command and all that it started; one that has not begun never will."""
    with open(folder + "/cancelled", "w"):  # noqa: PTH123
        pass
    try:
        with open(folder + "/keeper") as keeper:  # noqa: PTH123
            processes.kill_tree(int(keeper.read()))
    except (FileNotFoundError, ValueError):
        return


class _Output:
    """Reads a pipe and keeps the head and the tail of what comes through it."""

    def __init__(self, limit: int) -> None:
        self.source, self.sink = os.pipe()
        os.set_blocking(self.source, False)
        self._half = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0
        self.open = True

    def read(self) -> bool:
        try:
            chunk = os.read(self.source, _CHUNK)
        except BlockingIOError:
            return False
        if not chunk:
            os.close(self.source)
            self.open = False
            return False
        self._total += len(chunk)
        room = self._half - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[max(room, 0) :]
        if len(self._tail) > 2 * self._half + _CHUNK:
            del self._tail[: -self._half]
        return True

    def take(self) -> tuple[str, bool]:
        before = self._total
        while self.open and self._total - before < _LAST_LOOK_BYTES and self.read():
            pass
        omitted = self._total - len(self._head) - min(len(self._tail), self._half)
        tail = bytes(self._tail[-self._half :]) if self._half else b""
        marker = ("\n... [%d bytes omitted] ...\n" % omitted).encode() if omitted else b""  # noqa: UP031
        return base64.b64encode(bytes(self._head) + marker + tail).decode(), omitted > 0


class _Keeper:
    def __init__(self, request: dict[str, Any], folder: str) -> None:
        self._request = request
        self._folder = folder
        self._out = _Output(request["keep"])
        self._err = _Output(request["keep"])
        self._listener: Listener | None = None
        self._ended = False
        self._timed_out = False
        self._command = 0

    def keep(self) -> None:
        os.setsid()
        processes.adopt_orphans()
        woken, wake = os.pipe()
        os.set_blocking(woken, False)
        os.set_blocking(wake, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        with open(self._folder + "/keeper", "w") as keeper:  # noqa: PTH123
            keeper.write(str(os.getpid()))
        deadline = time.monotonic() + self._request["seconds"]
        self._start_command()
        if os.path.exists(self._folder + "/cancelled"):  # noqa: PTH110
            processes.kill_tree(os.getpid())
        self._let_go_of_streams()
        while self._has_children():
            if not self._ended and time.monotonic() > deadline:
                self._timed_out = True
                processes.kill_tree(os.getpid())
                continue
            self._wait(woken, deadline)
        if not self._ended:
            self._write_result(processes.CANNOT_RUN)

    def _wait(self, woken: int, deadline: float) -> None:
        poll = select.poll()
        poll.register(woken, select.POLLIN)
        for output in (self._out, self._err):
            if output.open:
                poll.register(output.source, select.POLLIN)
        if self._listener is not None:
            poll.register(self._listener.descriptor, select.POLLIN)
        left = None if self._ended else max(1, int((deadline - time.monotonic()) * 1000) + 1)
        for descriptor, events in poll.poll(left):
            if descriptor == woken:
                os.read(woken, 4096)
            elif self._listener is not None and descriptor == self._listener.descriptor:
                if events & select.POLLIN:
                    self._listener.hear()
                else:
                    os.close(descriptor)
                    self._listener = None
            else:
                output = self._out if descriptor == self._out.source else self._err
                output.read()

    def _has_children(self) -> bool:
        """Bury whoever has ended; whether anybody is left."""
        while True:
            try:
                process, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if process == 0:
                return True
            if process == self._command and not self._ended:
                self._write_result(processes.exit_code(status))

    def _write_result(self, code: int) -> None:
        self._ended = True
        out, cut_out = self._out.take()
        err, cut_err = self._err.take()
        answer = {
            "code": code,
            "timed_out": self._timed_out,
            "out": out,
            "err": err,
            "truncated": cut_out or cut_err,
        }
        write_result(self._folder, json.dumps(answer))

    # The command ---------------------------------------------------------------------------------

    def _start_command(self) -> None:
        near, far = socket.socketpair()
        self._command = os.fork()
        if self._command == 0:
            near.close()
            self._become_command(far)
        far.close()
        os.close(self._out.sink)
        os.close(self._err.sink)
        if self._request["watch"] == "seccomp":
            log = os.open(self._folder + "/calls", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            said, descriptors, _, _ = socket.recv_fds(near, 256, 1)
            if descriptors:
                # Where nobody watches, nobody waits for this to be imported.
                from assay_sandboxes.guest.network_listener import Listener  # noqa: PLC0415

                os.write(log, b'{"method": "seccomp"}\n')
                self._listener = Listener(descriptors[0], log)
            elif said:
                os.write(log, json.dumps({"lost": said.decode()}).encode() + b"\n")
            else:  # it ended before any program was started
                os.write(log, b'{"method": "seccomp"}\n')
        near.close()

    def _become_command(self, control: socket.socket) -> NoReturn:
        request = self._request
        argv: list[str] = request["argv"]
        if request["watch"] == "strace":
            from assay_sandboxes.guest import strace_log  # noqa: PLC0415

            argv = strace_log.traced(argv, TRACE + str(request["number"]))

        def prepare() -> None:
            processes.become_user(request["uid"], request["gid"])
            processes.bound(request["limits"])
            processes.give_up_new_privileges()
            if request["watch"] == "seccomp":
                self._install_filter(control)

        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        processes.become(
            argv,
            cwd=request["cwd"],
            environment=request["environment"],
            out=self._out.sink,
            err=self._err.sink,
            prepare=prepare,
        )

    def _install_filter(self, control: socket.socket) -> None:
        from assay_sandboxes.guest import syscall_filter  # noqa: PLC0415

        descriptors: list[int] = []
        deliver = syscall_filter.deliverer(control, b"listener", descriptors)
        try:
            descriptors.append(syscall_filter.install_filter(questions=True))
        except syscall_filter.NoFilter as error:
            control.send(str(error).encode())
            raise OSError(str(error)) from error
        deliver()

    def _let_go_of_streams(self) -> None:
        """Whoever waits for the end of our output is not to wait for what the command left."""
        nothing = os.open("/dev/null", os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
