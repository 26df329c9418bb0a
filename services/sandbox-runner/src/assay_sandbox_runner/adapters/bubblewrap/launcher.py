"""Prepares what only the outside can prepare for a sandbox, then becomes `bwrap`.

Runs as a program of its own, with the standard library alone, because namespaces, user ids and
system call filters belong to a process. In order: join the control groups; move into a mount
namespace in which the sandbox's folders lie under `STAGE`, where an unprivileged user finds them
and no path of the machine shows; give up root; and for a sandbox with a blocked network, make a
network namespace with nothing but a loopback, bind the name server's socket in it and open its
counters; install the system call filter; hand the runner what it needs to watch; become `bwrap`.
"""

import _thread
import ctypes
import errno
import fcntl
import json
import os
import signal
import socket
import struct
import sys
from collections.abc import Callable
from typing import Final, TypedDict

STAGE: Final = "/tmp"  # noqa: S108 - a mount of its own hides the machine's
NAME_SERVER: Final = "127.0.0.53"

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_DUMPABLE: Final = 4
_PR_SET_NO_NEW_PRIVS: Final = 38
_CLONE_NEWNS: Final = 0x00020000
_CLONE_NEWUSER: Final = 0x10000000
_CLONE_NEWNET: Final = 0x40000000
_MS_BIND: Final = 0x1000
_MS_REC: Final = 0x4000
_MS_SLAVE: Final = 0x80000
_SIOCGIFFLAGS: Final = 0x8913
_SIOCSIFFLAGS: Final = 0x8914
_IFF_UP: Final = 1


class Spec(TypedDict):
    """What the runner asks for, as JSON in the first argument."""

    control: int
    """Descriptor of the socket to the runner."""
    runner: int
    """Process id of the runner."""
    cgroups: list[str]
    """Control groups to join: paths of `cgroup.procs` files."""
    uid: int | None
    """Whom to become when started by root."""
    blocked: bool
    stage: dict[str, str]
    """Folders to show under `STAGE`, by name."""
    bwrap: str
    """Where it lies once staged."""
    arguments: list[str]


class _FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        sys.exit(f"{what}: {os.strerror(number)}")
    return result


def _unshare(flags: int, advice: str) -> None:
    _check(_libc.unshare(flags), f"cannot make namespaces ({advice})")


def _mount(source: str, target: str, kind: str | None, flags: int) -> None:
    _check(
        _libc.mount(source.encode(), target.encode(), kind and kind.encode(), flags, None),
        f"cannot mount {target}",
    )


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _unshare_user(also: int) -> None:
    uid, gid = os.geteuid(), os.getegid()
    _unshare(
        _CLONE_NEWUSER | also,
        "allow unprivileged user namespaces: sysctl kernel.unprivileged_userns_clone=1, "
        "user.max_user_namespaces above 0, kernel.apparmor_restrict_unprivileged_userns=0",
    )
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{uid} {uid} 1")
    _write("/proc/self/gid_map", f"{gid} {gid} 1")


def _stage(folders: dict[str, str]) -> None:
    _mount("none", "/", None, _MS_REC | _MS_SLAVE)
    # Opened first: a source may lie under the very folder that the stage covers.
    sources = {name: os.open(path, os.O_PATH) for name, path in folders.items()}
    _mount("tmpfs", STAGE, "tmpfs", 0)
    for name, source in sources.items():
        os.mkdir(f"{STAGE}/{name}")  # noqa: PTH102 - pathlib is slow to import
        _mount(f"/proc/self/fd/{source}", f"{STAGE}/{name}", None, _MS_BIND | _MS_REC)
        os.close(source)


def _become(uid: int) -> None:
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    # Changing ids made /proc/self root's, and the maps of the next namespace are written there.
    _libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sH14x", b"lo", 0)
        answer = fcntl.ioctl(any_socket, _SIOCGIFFLAGS, request)
        (flags,) = struct.unpack_from("H", answer, 16)
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | _IFF_UP))


def _name_server() -> int:
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((NAME_SERVER, 53))
    return server.detach()


def _counters() -> list[int]:
    paths = ("/proc/self/net/snmp", "/proc/self/net/snmp6")
    return [os.open(path, os.O_RDONLY) for path in paths if os.path.exists(path)]  # noqa: PTH110


def _filter(*, notify: bool) -> bytes:
    """The system call filter, as BPF.

    Sockets may be unix, IPv4, IPv6 or netlink: others (vsock above all) are not confined by a
    network namespace. What could go round the filter or around the namespace does not exist.
    With `notify`, calls that name a destination wait until the runner has seen it.
    """
    arm = os.uname().machine == "aarch64"
    architecture = 0xC00000B7 if arm else 0xC000003E
    io_uring = (425, 426, 427)
    # bpf, perf_event_open, keyctl, add_key, request_key, userfaultfd
    kernel_doors = (280, 241, 219, 217, 218, 282) if arm else (321, 298, 250, 248, 249, 323)
    socket_call = 198 if arm else 41
    connect, sendto, sendmsg, sendmmsg = (203, 206, 211, 269) if arm else (42, 44, 46, 307)
    x32 = 0x40000000

    load, equal, at_least, give = 0x20, 0x15, 0x35, 0x06
    allow, ask, refuse = 0x7FFF0000, 0x7FC00000, 0x00050000
    no_such_call, no_such_family = refuse | errno.ENOSYS, refuse | errno.EAFNOSUPPORT
    number_at, architecture_at, first_argument_at, fifth_argument_at = 0, 4, 16, 48

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

    families = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK)
    add(equal, socket_call, 0, len(families) + 3)
    add(load, first_argument_at)
    for position, family in enumerate(families):
        add(equal, family, len(families) - position, 0)
    add(give, no_such_family)
    add(give, allow)

    if notify:
        for number in (connect, sendmsg, sendmmsg):
            add(equal, number, 0, 1)
            add(give, ask)
        add(equal, sendto, 1, 0)
        add(give, allow)
        # A `sendto` without an address goes where an earlier `connect` was seen to go.
        add(load, fifth_argument_at)
        add(equal, 0, 0, 3)
        add(load, fifth_argument_at + 4)
        add(equal, 0, 0, 1)
        add(give, allow)
        add(give, ask)
    else:
        add(give, allow)
    return b"".join(program)


def _install_filter(*, notify: bool) -> int | None:
    """Install the filter on this thread; return the listener if the runner is to be asked."""
    code = _filter(notify=notify)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _FilterProgram(len(code) // 8, ctypes.addressof(buffer))
    set_filter, new_listener, wait_killable = 1, 8, 32
    seccomp = 277 if os.uname().machine == "aarch64" else 317
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "cannot give up new privileges")
    # Without `wait_killable` (Linux 5.19) a signal repeats the call, which is then seen twice.
    for flags in (new_listener | wait_killable, new_listener) if notify else (0,):
        result: int = _libc.syscall(seccomp, set_filter, flags, ctypes.byref(program))
        if result >= 0 or ctypes.get_errno() != errno.EINVAL:
            break
    _check(result, "cannot filter system calls")
    return result if notify else None


def _deliverer(control: socket.socket, descriptors: list[int]) -> Callable[[], None]:
    """What sends `descriptors` to the runner when called.

    A thread that starts now does the sending, because it stays outside the filter that is
    installed between now and then, and `sendmsg` under the filter would wait for a runner that
    has no listener yet.
    """
    wanted, sent = _thread.allocate_lock(), _thread.allocate_lock()
    wanted.acquire()
    sent.acquire()

    def work() -> None:
        wanted.acquire()
        socket.send_fds(control, [b'{"op":"prepared"}'], descriptors)
        sent.release()

    _thread.start_new_thread(work, ())

    def deliver() -> None:
        wanted.release()
        sent.acquire()

    return deliver


def main() -> None:
    spec: Spec = json.loads(sys.argv[1])
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    for group in spec["cgroups"]:
        _write(group, "0")
    network = _CLONE_NEWNET if spec["blocked"] else 0
    if spec["uid"] is None:
        _unshare_user(_CLONE_NEWNS | network)
        _stage(spec["stage"])
    else:
        _unshare(_CLONE_NEWNS, "run as an ordinary user, or give root CAP_SYS_ADMIN")
        _stage(spec["stage"])
        _become(spec["uid"])
        if spec["blocked"]:
            _unshare_user(_CLONE_NEWNET)
    descriptors: list[int] = []
    if spec["blocked"]:
        _raise_loopback()
        descriptors += [_name_server(), *_counters()]
    # Set again, because changing ids has cleared it; then make sure that it was not too late.
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != spec["runner"]:
        sys.exit("the runner is gone")
    deliver = _deliverer(socket.socket(fileno=os.dup(spec["control"])), descriptors)
    listener = _install_filter(notify=spec["blocked"])
    if listener is not None:
        descriptors.insert(0, listener)
    deliver()
    os.execve(spec["bwrap"], ["bwrap", *spec["arguments"]], {})  # noqa: S606


if __name__ == "__main__":
    main()
