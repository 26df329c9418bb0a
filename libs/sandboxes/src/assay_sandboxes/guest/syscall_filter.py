"""A system call filter that keeps sockets to the internet's families, and may ask before calls.

Sockets may be unix, IPv4, IPv6 or netlink: others (vsock above all) are not confined by a network
namespace. What could go round the filter or around the namespace does not exist. Calls that name a
destination wait until a listener has seen them.

Used by process 1 of bubblewrap sandboxes, and inside sandboxes that others provide.
"""

from __future__ import annotations

import _thread
import ctypes
import errno
import os
import socket
import struct

from assay_sandboxes.guest import syscall_numbers as numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Instruction = tuple[int, ...]
    """Operation, value, and where they matter how many to skip if true and if false."""

_PR_SET_NO_NEW_PRIVS = 38
_QUERY_BYTES = 512
"""No question to a name server is longer."""

_LOAD, _IF_EQUAL, _IF_MORE, _IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x25, 0x35, 0x06
_ALLOW, _ASK, _REFUSE = 0x7FFF0000, 0x7FC00000, 0x00050000
_NO_SUCH_CALL = _REFUSE | errno.ENOSYS
_NUMBER, _ARCHITECTURE = 0, 4
_ARGUMENT_1, _ARGUMENT_3, _ARGUMENT_5 = 16, 32, 48
_OUR_ARCHITECTURE = 0xC00000B7 if numbers.ARM else 0xC000003E
_FIRST_X32_CALL = 0x40000000
_FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK)

_libc = ctypes.CDLL(None, use_errno=True)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


class NoFilter(Exception):
    """The kernel does not take the filter."""


def filter_code(*, name_queries: bool) -> bytes:
    """The filter, as BPF.

    With `name_queries`, what may ask a name server over a socket that is connected already waits
    for a listener too.
    """
    return b"".join(
        struct.pack("<HBBI", operation, *(skips or (0, 0)), value)
        for operation, value, *skips in (
            *_refuse_what_goes_round(),
            *_refuse_limits_for_others(),
            *_refuse_other_families(),
            *_ask_about_destinations(name_queries=name_queries),
        )
    )


def _refuse_what_goes_round() -> Iterator[Instruction]:
    yield _LOAD, _ARCHITECTURE
    yield _IF_EQUAL, _OUR_ARCHITECTURE, 1, 0
    yield _RETURN, _NO_SUCH_CALL
    yield _LOAD, _NUMBER
    if not numbers.ARM:
        yield _IF_AT_LEAST, _FIRST_X32_CALL, 0, 1
        yield _RETURN, _NO_SUCH_CALL
    for number in (*numbers.IO_URING, *numbers.KERNEL_DOORS):
        yield _IF_EQUAL, number, 0, 1
        yield _RETURN, _NO_SUCH_CALL


def _refuse_limits_for_others() -> Iterator[Instruction]:
    """Nobody sets limits for anybody else, process 1 above all."""
    yield _IF_EQUAL, numbers.PRLIMIT, 0, 4
    yield _LOAD, _ARGUMENT_1
    yield _IF_EQUAL, 0, 1, 0
    yield _RETURN, _REFUSE | errno.EPERM
    yield _RETURN, _ALLOW


def _refuse_other_families() -> Iterator[Instruction]:
    yield _IF_EQUAL, numbers.SOCKET, 0, len(_FAMILIES) + 3
    yield _LOAD, _ARGUMENT_1
    for position, family in enumerate(_FAMILIES):
        yield _IF_EQUAL, family, len(_FAMILIES) - position, 0
    yield _RETURN, _REFUSE | errno.EAFNOSUPPORT
    yield _RETURN, _ALLOW


def _ask_about_destinations(*, name_queries: bool) -> Iterator[Instruction]:
    for number in (numbers.CONNECT, numbers.SENDMSG, numbers.SENDMMSG):
        yield _IF_EQUAL, number, 0, 1
        yield _RETURN, _ASK
    yield _IF_EQUAL, numbers.SENDTO, 1, 0
    yield _RETURN, _ALLOW
    # A `sendto` without an address goes where an earlier `connect` was seen to go.
    yield _LOAD, _ARGUMENT_5
    yield _IF_EQUAL, 0, 0, 5 if name_queries else 3
    yield _LOAD, _ARGUMENT_5 + 4
    yield _IF_EQUAL, 0, 0, 3 if name_queries else 1
    if name_queries:
        yield _LOAD, _ARGUMENT_3
        yield _IF_MORE, _QUERY_BYTES, 0, 1
    yield _RETURN, _ALLOW
    yield _RETURN, _ASK


def install_filter(*, name_queries: bool = False) -> int:
    """Install the filter on this thread; return the listener.

    Raises:
        NoFilter: the kernel refuses.
    """
    code = filter_code(name_queries=name_queries)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.addressof(buffer))
    set_filter, new_listener, wait_killable = 1, 8, 32
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    result = -1
    # Without `wait_killable` (Linux 5.19) a signal repeats the call, which is then seen twice.
    for flags in (new_listener | wait_killable, new_listener):
        result = _libc.syscall(numbers.SECCOMP, set_filter, flags, ctypes.byref(program))
        if result >= 0 or ctypes.get_errno() != errno.EINVAL:
            break
    if result < 0:
        raise NoFilter("cannot filter system calls: " + os.strerror(ctypes.get_errno()))
    return result


def sender_outside_the_filter(
    control: socket.socket, message: bytes, descriptors: list[int]
) -> Callable[[], None]:
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

    def send() -> None:
        wanted.release()
        sent.acquire()

    return send
