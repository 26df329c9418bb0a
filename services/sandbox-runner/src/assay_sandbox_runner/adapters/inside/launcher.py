"""Starts sandboxes for the runner: prepares what only the outside can, then becomes `bwrap`.

A program of its own, with the standard library alone, because namespaces, user ids and system
call filters belong to a process. It is started once and forks for each sandbox, which is many
times faster than starting Python for each. For a sandbox, in order: join the control groups; move
into a mount namespace in which the sandbox's folders lie under `STAGE`, where an unprivileged user
finds them and no path of the machine shows; give up root; and for a sandbox with a blocked
network, make a network namespace with nothing but a loopback, bind the name server's socket in it
and open its counters; install the system call filter; hand the runner what it needs to watch;
become `bwrap`.
"""

import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import sys
from typing import Final, NoReturn, TypedDict

from assay_sandbox_runner.adapters.inside.filtering import NoFilter, deliverer, install_filter

STAGE: Final = "/tmp"  # noqa: S108 - a mount of its own hides the machine's
NAME_SERVER: Final = "127.0.0.53"

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_DUMPABLE: Final = 4
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
    """What the runner asks for."""

    control: int
    """Under which number the supervisor finds the socket to the runner."""
    uid: int | None
    """Whom to become when started by root."""
    blocked: bool
    stage: dict[str, str]
    """Folders to show under `STAGE`, by name."""
    bwrap: str
    """Where it lies once staged."""
    arguments: list[str]


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


def _launch(spec: Spec, control: int, starter: int) -> NoReturn:
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
    if os.getppid() != starter:
        sys.exit("the runner is gone")
    # Under this number `bwrap` passes it on to the supervisor.
    os.dup2(control, spec["control"])
    deliver = deliverer(socket.socket(fileno=control), b'{"op":"prepared"}', descriptors)
    try:
        listener = install_filter(notify=spec["blocked"])
    except NoFilter as error:
        sys.exit(str(error))
    if listener is not None:
        descriptors.insert(0, listener)
    deliver()
    os.execve(spec["bwrap"], ["bwrap", *spec["arguments"]], {})  # noqa: S606


class _Spare:
    """A process that has joined its control groups, and waits to be told what to become.

    Joining takes the kernel longer than all the rest, so it is done ahead of time.
    """

    def __init__(self, groups: list[str]) -> None:
        self.groups = groups
        self._near, far = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            self._near.close()
            _wait(groups, far)
        far.close()
        self.descriptor = os.pidfd_open(self.pid)

    def start(self, spec: bytes, descriptors: list[int]) -> None:
        socket.send_fds(self._near, [spec], descriptors)
        self.close()

    def close(self) -> None:
        self._near.close()


def _wait(groups: list[str], requests: socket.socket) -> NoReturn:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    starter = os.getppid()
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    os.setsid()
    try:
        for group in groups:
            _write(group, "0")
        request, descriptors, _, _ = socket.recv_fds(requests, 1 << 16, 2)
        if request:
            control, log = descriptors
            os.dup2(log, 2)
            _launch(json.loads(request), control, starter)
    except Exception as error:  # noqa: BLE001 - whatever it is, the log is where it is looked for
        os.write(2, str(error).encode())
    except SystemExit as error:
        os.write(2, str(error.code).encode())
    os._exit(1)


def main() -> None:
    """Start a sandbox for each request on the socket that is the standard input.

    A request is JSON, `{"groups", "spec", "next"}`, with two descriptors: the sandbox's socket to
    the runner, and a log. `groups` are the control groups to join (paths of `cgroup.procs` files),
    `next` those of the sandbox after this one. The answer is a process id, with a descriptor of
    that process. Whatever was started dies with this process, and this process with the runner.
    """
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != int(sys.argv[1]):
        sys.exit("the runner is gone")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Nobody asks for exit codes here, so nobody has to be waited for.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    requests = socket.socket(fileno=os.dup(0))
    spare: _Spare | None = None
    while True:
        message, descriptors, _, _ = socket.recv_fds(requests, 1 << 16, 2)
        if not message:
            return
        request = json.loads(message)
        if spare is None or spare.groups != request["groups"]:
            spare = _Spare(request["groups"])
        spare.start(json.dumps(request["spec"]).encode(), descriptors)
        socket.send_fds(requests, [str(spare.pid).encode()], [spare.descriptor])
        for descriptor in (*descriptors, spare.descriptor):
            os.close(descriptor)
        spare = _Spare(request["next"])
