"""Running a command under a process that bounds it, watches it and writes down what came of it.

That process outlives whoever asked for the command, and the command: what the command leaves
running goes on, watched, under it until it ends.
"""

from __future__ import annotations

import base64
import json
import os
import select
import signal
import socket
import time

from assay_sandboxes.guest import fast_files, processes
from assay_sandboxes.guest.answers import write_answer
from assay_sandboxes.guest.head_and_tail import HeadAndTail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from assay_sandboxes.guest.network_listener import Listener
    from assay_sandboxes.remote.guest_requests import CommandRequest

STRACE_LOG = fast_files.TEMPORARY + "/.assay-trace-"
"""Where `strace` writes, which has no more rights than the command; its number comes after."""

_CHUNK = 256 * 1024
_LAST_LOOK_BYTES = 1024 * 1024
_NOTHING_SEEN_YET = b'{"method": "seccomp"}\n'


def start(request: CommandRequest, folder: str) -> None:
    """Start a command under a process of its own; the answer comes into `folder`."""
    if os.fork() == 0:
        try:
            _CommandRunner(request, folder).run()
        except BaseException as error:  # noqa: BLE001  # nobody else hears of it
            write_answer(folder, {"failed": f"what runs the command: {error!r}"})
        os._exit(0)


def cancel(folder: str) -> None:
    """End a command and all that it started; one that has not begun never will."""
    fast_files.write_text(folder + "/cancelled", "")
    try:
        runner = int(fast_files.read_text(folder + "/runner"))
    except (FileNotFoundError, ValueError):
        return
    processes.kill_tree(runner)


class _Output:
    """Reads a pipe and keeps the head and the tail of what comes through it."""

    def __init__(self, limit: int) -> None:
        self.source, self.sink = os.pipe()
        os.set_blocking(self.source, False)
        self._kept = HeadAndTail(limit)
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
        self._kept.add(chunk)
        return True

    def take(self) -> tuple[str, bool]:
        """What came so far, in base64, and whether some of it was left out."""
        before = self._kept.total
        while self.open and self._kept.total - before < _LAST_LOOK_BYTES and self.read():
            pass
        kept, is_cut = self._kept.joined()
        return base64.b64encode(kept).decode(), is_cut


class _CommandRunner:
    def __init__(self, request: CommandRequest, folder: str) -> None:
        self._request = request
        self._folder = folder
        self._out = _Output(request["keep"])
        self._err = _Output(request["keep"])
        self._listener: Listener | None = None
        self._ended = False
        self._timed_out = False
        self._command = 0

    def run(self) -> None:
        os.setsid()
        processes.adopt_orphans()
        woken = processes.wake_on_ended_children()
        fast_files.write_text(self._folder + "/runner", str(os.getpid()))
        deadline = time.monotonic() + self._request["seconds"]
        self._start_command()
        if fast_files.exists(self._folder + "/cancelled"):
            processes.kill_tree(os.getpid())
        self._let_go_of_streams()
        while self._has_children():
            if not self._ended and time.monotonic() > deadline:
                self._timed_out = True
                processes.kill_tree(os.getpid())
                continue
            self._wait(woken, deadline)
        if not self._ended:
            self._write_answer(processes.CANNOT_RUN)

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
                self._write_answer(processes.exit_code(status))

    def _write_answer(self, code: int) -> None:
        self._ended = True
        out, cut_out = self._out.take()
        err, cut_err = self._err.take()
        write_answer(
            self._folder,
            {
                "code": code,
                "timed_out": self._timed_out,
                "out": out,
                "err": err,
                "truncated": cut_out or cut_err,
            },
        )

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
            self._start_listening(near)
        near.close()

    def _start_listening(self, control: socket.socket) -> None:
        log = os.open(self._folder + "/calls", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        said, descriptors, _, _ = socket.recv_fds(control, 256, 1)
        if descriptors:
            from assay_sandboxes.guest import network_listener  # noqa: PLC0415  # slow, and rare

            os.write(log, _NOTHING_SEEN_YET)
            self._listener = network_listener.Listener(
                descriptors[0], log, self._request["refused_ports"]
            )
        elif said:
            os.write(log, json.dumps({"lost": said.decode()}).encode() + b"\n")
        else:  # it ended before any program was started
            os.write(log, _NOTHING_SEEN_YET)

    def _become_command(self, control: socket.socket) -> NoReturn:
        request = self._request
        argv = request["argv"]
        if request["watch"] == "strace":
            from assay_sandboxes.guest import strace_log  # noqa: PLC0415  # slow, and rare

            argv = strace_log.under_strace(argv, STRACE_LOG + str(request["number"]))

        def prepare() -> None:
            processes.become_user(request["uid"], request["gid"])
            processes.apply_limits(request["limits"])
            processes.give_up_new_privileges()
            if request["watch"] == "seccomp":
                _install_filter(control)

        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        processes.become_command(
            argv,
            cwd=request["cwd"],
            environment=request["environment"],
            out=self._out.sink,
            err=self._err.sink,
            prepare=prepare,
        )

    def _let_go_of_streams(self) -> None:
        """Whoever waits for the end of our output is not to wait for what the command left."""
        processes.point_nowhere(0, 1, 2)


def _install_filter(control: socket.socket) -> None:
    from assay_sandboxes.guest import syscall_filter  # noqa: PLC0415  # slow, and rare

    descriptors: list[int] = []
    send = syscall_filter.sender_outside_the_filter(control, b"listener", descriptors)
    try:
        descriptors.append(syscall_filter.install_filter(name_queries=True))
    except syscall_filter.NoFilter as error:
        control.send(str(error).encode())
        raise OSError(str(error)) from error
    send()
