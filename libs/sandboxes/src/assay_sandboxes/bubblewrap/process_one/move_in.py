"""How process 1 of a sandbox comes to be: forked by the launcher, it moves in and stays.

What it must not bring along: descriptors, modules that it might look for inside, capabilities, and
a way to look into it, since its memory and its program are the machine's.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import socket
import struct
import sys
from typing import Final, NoReturn, TypedDict

from assay_sandboxes.bubblewrap.process_one import kernel
from assay_sandboxes.bubblewrap.process_one.supervisor import ProbeFrame, supervise, try_to_get_out
from assay_sandboxes.guest import fast_files, processes
from assay_sandboxes.guest.syscall_filter import install_filter, sender_outside_the_filter

NAME_SERVER: Final = "127.0.0.53"
USER: Final = 1000
"""Whom a sandbox's processes take themselves for."""

_SIOCGIFFLAGS: Final = 0x8913
_SIOCSIFFLAGS: Final = 0x8914
_IFF_UP: Final = 1
_CREDENTIALS: Final = struct.Struct("3i")
_PROCESS_NAMESPACE: Final = 3


class Room(TypedDict):
    """A folder that may be written to: a file system in memory with hard bounds."""

    bytes: int
    files: int
    """How many files, folders and links there may be."""
    mode: str
    layers: list[str]
    """Folders whose contents show in it from the start, the lowest first; never written to."""
    overlay: bool
    """Whether they are laid under it; else they are copied into it, beyond what it may hold."""


class SandboxSpec(TypedDict):
    """What the runner asks for."""

    probe: ProbeFrame
    """Where to try to go before anything else is done inside."""
    stage: dict[str, str]
    """Folders to show under the launcher's `STAGE`, by name."""
    rooms: dict[str, Room]
    """Folders to make there, by name."""
    bwrap: str
    """Where it lies once staged."""
    arguments: list[str]
    """Its arguments: what the sandbox's files are, and what is to be unshared with them."""
    environment: dict[str, str]
    """Of commands."""
    limits: dict[str, int]
    """Of each command."""


class _LaidOutSandbox:
    """`bwrap`, which lays the sandbox out, and a program that waits in it to be followed.

    The program is `cat`: what it gives back of what it is given tells that all is laid out, and
    who it is.
    """

    def __init__(self, bwrap: str, arguments: list[str]) -> None:
        self._near, far = socket.socketpair()
        self._near.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        namespace = os.open("/proc/self/ns/pid", os.O_RDONLY)
        pidns = ("--pidns", str(_PROCESS_NAMESPACE))
        self._process = os.posix_spawn(
            bwrap,
            ["bwrap", *pidns, *arguments, "--", "cat"],
            {},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, far.fileno(), 0),
                (os.POSIX_SPAWN_DUP2, far.fileno(), 1),
                (os.POSIX_SPAWN_DUP2, namespace, _PROCESS_NAMESPACE),
            ],
        )
        far.close()
        os.close(namespace)

    def enter(self) -> None:
        """Move in, once it is laid out; `bwrap` itself says why it cannot be."""
        try:
            self._near.send(b"?")
            answer, ancillary, _, _ = self._near.recvmsg(1, socket.CMSG_SPACE(_CREDENTIALS.size))
        except OSError:
            answer = b""
        if not answer:
            os._exit(1)
        waiting, _, _ = _CREDENTIALS.unpack(ancillary[0][2])
        kernel.enter(
            waiting, kernel.NEW_MOUNTS | kernel.NEW_IPC | kernel.NEW_UTS | kernel.NEW_CGROUP
        )
        self._near.close()

    def wait_for_end(self) -> None:
        os.waitpid(self._process, 0)


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sH14x", b"lo", 0)
        answer = fcntl.ioctl(any_socket, _SIOCGIFFLAGS, request)
        (flags,) = struct.unpack_from("H", answer, 16)
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | _IFF_UP))


def _name_server_sockets() -> list[int]:
    """For datagrams, and for connections."""
    sockets = []
    for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
        server = socket.socket(socket.AF_INET, kind)
        server.bind((NAME_SERVER, 53))
        sockets.append(server)
    sockets[1].listen(64)
    return [server.detach() for server in sockets]


def _egress_gates() -> list[int]:
    """Where connections that are carried out arrive, for each kind of address there is."""
    gates = []
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        try:
            gate = socket.socket(family, socket.SOCK_STREAM)
            gate.bind((host, 0))
            gate.listen(128)
        except OSError:  # the machine does without IPv6
            continue
        gates.append(gate.detach())
    return gates


def _no_route_counters() -> list[int]:
    paths = ("/proc/self/net/snmp", "/proc/self/net/snmp6")
    return [os.open(path, os.O_RDONLY) for path in paths if fast_files.exists(path)]


def import_all() -> None:
    """Have everything imported that is ever needed: inside, nothing can be."""
    "name".encode("idna")  # as `getaddrinfo` does


def _import_nothing_more() -> None:
    """The paths of the machine's modules are the sandbox's own to fill."""
    sys.path.clear()
    sys.meta_path.clear()


def _keep_only(control: socket.socket) -> None:
    processes.point_nowhere(0, 1, 2)
    os.closerange(3, control.fileno())
    os.closerange(control.fileno() + 1, 1024)


def move_in_and_serve(spec: SandboxSpec, control: socket.socket, *, parent_ended: int) -> NoReturn:
    """Move into the sandbox and do what the runner asks for on `control`, to the end.

    `parent_ended` can be read once the parent has ended, which ends this process too.
    """
    kernel.die_with_parent()
    if select.select([parent_ended], [], [], 0)[0]:
        os._exit(1)  # it ended before that was said
    os.setsid()
    # As process 1 it takes only signals that it handles, and it handles none from inside.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    kernel.no_more_user_namespaces_than_one()
    sandbox = _LaidOutSandbox(spec["bwrap"], spec["arguments"])
    _raise_loopback()
    counters = _no_route_counters()
    observed = [*_name_server_sockets(), *counters, *_egress_gates()]
    _import_nothing_more()
    sandbox.enter()
    kernel.unshare_user(0, inside=USER)
    kernel.give_up_capabilities()
    processes.hide_from_others()
    ready = b'{"op": "ready", "counters": %d}' % len(counters)
    send = sender_outside_the_filter(control, ready, observed)
    observed.insert(0, install_filter())
    send()
    _keep_only(control)
    sandbox.wait_for_end()
    # A warden that is not root reads from this process where it tries to go. Nobody else is here.
    processes.show_to_others()
    probed = try_to_get_out(spec["probe"])
    processes.hide_from_others()
    # Not `send`, which would wait for the warden.
    os.write(control.fileno(), json.dumps({"op": "probed", **probed}).encode())
    supervise(control, spec["limits"], spec["environment"])
