"""A system call filter that keeps sockets to the internet's families, and may ask before calls.

Used by the launcher of bubblewrap sandboxes, and inside sandboxes that others provide.
"""

from __future__ import annotations

import _thread
import ctypes
import errno
import os
import socket
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_PR_SET_NO_NEW_PRIVS = 38
_QUESTION_BYTES = 512
"""No question to a name server is longer."""

_libc = ctypes.CDLL(None, use_errno=True)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


class NoFilter(Exception):
    """The kernel does not take the filter."""


def filter_code(*, questions: bool) -> bytes:
    """The system call filter, as BPF.

    Sockets may be unix, IPv4, IPv6 or netlink: others (vsock above all) are not confined by a
    network namespace. What could go round the filter or around the namespace does not exist.
    Calls that name a destination wait until a listener has seen them; with
    `questions`, also what may ask a name server over a socket that is connected already.
    """
    arm = os.uname().machine == "aarch64"
    architecture = 0xC00000B7 if arm else 0xC000003E
    io_uring = (425, 426, 427)
    # bpf, perf_event_open, keyctl, add_key, request_key, userfaultfd
    kernel_doors = (280, 241, 219, 217, 218, 282) if arm else (321, 298, 250, 248, 249, 323)
    limits_call = 261 if arm else 302
    socket_call = 198 if arm else 41
    connect, sendto, sendmsg, sendmmsg = (203, 206, 211, 269) if arm else (42, 44, 46, 307)
    x32 = 0x40000000

    load, equal, more, at_least, give = 0x20, 0x15, 0x25, 0x35, 0x06
    allow, ask, refuse = 0x7FFF0000, 0x7FC00000, 0x00050000
    no_such_call, no_such_family = refuse | errno.ENOSYS, refuse | errno.EAFNOSUPPORT
    number_at, architecture_at, first_argument_at = 0, 4, 16
    third_argument_at, fifth_argument_at = 32, 48

    program: list[bytes] = []

    def add(code: int, value: int, when_true: int = 0, when_false: int = 0) -> None:
        program.append(struct.pack("<HBBI", code, when_true, when_false, value))

    add(load, architecture_at)
    add(equal, architecture, 1, 0)
    add(give, no_such_call)
    add(load, number_at)
    if not arm:
        add(at_least, x32, 0, 1)
        add(give, no_such_call)
    for number in (*io_uring, *kernel_doors):
        add(equal, number, 0, 1)
        add(give, no_such_call)

    # Nobody sets limits for anybody else, process 1 above all.
    for instruction in (
        (equal, limits_call, 0, 4),
        (load, first_argument_at),
        (equal, 0, 1, 0),
        (give, refuse | errno.EPERM),
        (give, allow),
    ):
        add(*instruction)

    families = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK)
    add(equal, socket_call, 0, len(families) + 3)
    add(load, first_argument_at)
    for position, family in enumerate(families):
        add(equal, family, len(families) - position, 0)
    add(give, no_such_family)
    add(give, allow)

    for number in (connect, sendmsg, sendmmsg):
        add(equal, number, 0, 1)
        add(give, ask)
    add(equal, sendto, 1, 0)
    add(give, allow)
    # A `sendto` without an address goes where an earlier `connect` was seen to go.
    add(load, fifth_argument_at)
    add(equal, 0, 0, 5 if questions else 3)
    add(load, fifth_argument_at + 4)
    add(equal, 0, 0, 3 if questions else 1)
    if questions:
        add(load, third_argument_at)
        add(more, _QUESTION_BYTES, 0, 1)
    add(give, allow)
    add(give, ask)
    return b"".join(program)


def install_filter(*, questions: bool = False) -> int:
    """Install the filter on this thread; return the listener.

    Raises:
        NoFilter: the kernel refuses.
    """
    code = filter_code(questions=questions)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.addressof(buffer))
    set_filter, new_listener, wait_killable = 1, 8, 32
    seccomp = 277 if os.uname().machine == "aarch64" else 317
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    result = -1
    # Without `wait_killable` (Linux 5.19) a signal repeats the call, which is then seen twice.
    for flags in (new_listener | wait_killable, new_listener):
        result = _libc.syscall(seccomp, set_filter, flags, ctypes.byref(program))
        if result >= 0 or ctypes.get_errno() != errno.EINVAL:
            break
    if result < 0:
        raise NoFilter("cannot filter system calls: " + os.strerror(ctypes.get_errno()))
    return result


def deliverer(control: socket.socket, message: bytes, descriptors: list[int]) -> Callable[[], None]:
    """What sends `descriptors` over `control` when called.

    A thread that starts now does the sending, because it stays outside the filter that is
    installed between now and then, and `sendmsg` under the filter would wait for a listener that
    nobody has yet.
    """
    wanted, sent = _thread.allocate_lock(), _thread.allocate_lock()
    wanted.acquire()
    sent.acquire()

    def work() -> None:
        wanted.acquire()
        socket.send_fds(control, [message], descriptors)
        sent.release()

    _thread.start_new_thread(work, ())

    def deliver() -> None:
        wanted.release()
        sent.acquire()

    return deliver
