"""Which process of a sandbox a call comes from, and which command that belongs to."""

from __future__ import annotations

import ctypes
import os
import socket
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from assay_sandboxes.guest import fast_files
from assay_sandboxes.guest.callers import Callers
from assay_sandboxes.guest.syscall_numbers import PIDFD_GETFD

if TYPE_CHECKING:
    from assay_sandboxes.guest.waiting_calls import WaitingCall

_ENVIRONMENT_BYTES: Final = 256 * 1024
_libc = ctypes.CDLL(None, use_errno=True)


class CallingProcess(NamedTuple):
    """Whoever makes a call."""

    command: int | None
    """The number of the command that it belongs to; none where that cannot be told."""
    process: str | None = None
    """Tells processes of one sandbox apart; none where it is not known which one it was."""
    programs: tuple[tuple[str, str], ...] = ()
    """Command line and folder of it, then of what runs above it, up to the command."""


class _Resolving(NamedTuple):
    """Somebody who turned to the name server."""

    thread: int
    descriptor: int
    caller: CallingProcess


class CallingProcesses:
    """Tells who makes a call, and who asks the name server."""

    def __init__(self) -> None:
        self._callers = Callers()
        self._resolving: deque[_Resolving] = deque(maxlen=64)
        """Who lately did."""

    def of(self, thread: int) -> CallingProcess:
        """Whose thread it is.

        Raises:
            OSError: it has ended, or may not be looked at.
        """
        caller = self._callers.caller(thread)
        return CallingProcess(
            command=_command_number(caller.processes or (thread,)),
            process=caller.process,
            programs=caller.programs,
        )

    def turned_to_name_server(self, call: WaitingCall, caller: CallingProcess) -> None:
        self._resolving.append(_Resolving(call.thread, call.descriptor, caller))

    def asking(self, port: int) -> CallingProcess | None:
        """Who asks the name server from a port.

        Whoever asks is waiting for the answer, so its socket is still there. Looking at it costs
        the same however many others there are.
        """
        recent = list(reversed(self._resolving))
        for each in recent:
            with suppress(OSError), socket_of(each.thread, each.descriptor) as near:
                if near.getsockname()[1] == port:
                    return each.caller
        return recent[0].caller if recent else None


def socket_of(thread: int, descriptor: int) -> socket.socket:
    """Another process's socket, shared with it. Raises OSError."""
    status = fast_files.read_text(f"/proc/{thread}/status").splitlines()
    process = next(int(line.split()[1]) for line in status if line.startswith("Tgid:"))
    handle = os.pidfd_open(process)
    try:
        copied = _libc.syscall(PIDFD_GETFD, handle, descriptor, 0)
        if copied < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    finally:
        os.close(handle)
    try:
        return socket.socket(fileno=copied)
    except OSError:
        os.close(copied)
        raise


def _command_number(processes: tuple[int, ...]) -> int | None:
    """By the variable that a process, or else the next above it that has one, was started with."""
    own, *above = processes
    number = _number_in_environment(own)
    for process in above:
        if number is None:
            with suppress(OSError):
                number = _number_in_environment(process)
    return number


def _number_in_environment(process: int) -> int | None:
    # A process can make its environment appear to be all of its memory.
    with open(f"/proc/{process}/environ", "rb", buffering=0) as environment:  # noqa: PTH123  # slow to import
        for variable in environment.read(_ENVIRONMENT_BYTES).split(b"\0"):
            name, _, value = variable.partition(b"=")
            if name == b"SANDBOX_COMMAND" and value.isdigit():
                return int(value)
    return None
