"""Starts sandboxes for the runner, without starting Python for any of them.

A program of its own, with the standard library alone, because namespaces, user ids and system
call filters belong to a process. It is started once and forks for each sandbox. For a sandbox, in
order: join the control groups; move into a mount namespace in which the sandbox's folders lie
under `STAGE`, where an unprivileged user finds them and no path of the machine shows; give up
root; make a user namespace, and with it a process namespace and a network namespace; fork what
becomes process 1 (`move_in.py`); wait for its end.
"""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
import socket
import sys
from typing import TYPE_CHECKING, Final, NoReturn

from assay_sandboxes.bubblewrap.process_one import kernel, move_in
from assay_sandboxes.bubblewrap.warden import program as warden
from assay_sandboxes.guest import fast_files

if TYPE_CHECKING:
    from collections.abc import Callable

STAGE: Final = fast_files.TEMPORARY
"""A mount of its own hides the machine's."""
SANDBOX_UID: Final = 64100
"""Whom a sandbox's processes are on the machine, when root starts them."""


def _stage_folders(spec: move_in.SandboxSpec, owner: int) -> None:
    kernel.mount("none", "/", None, kernel.RECURSIVE | kernel.SLAVE)
    layers = {
        f"{name}.{number}": path
        for name, room in spec["rooms"].items()
        for number, path in enumerate(room["layers"])
    }
    # Opened first: a source may lie under the very folder that the stage covers.
    sources = {name: os.open(path, os.O_PATH) for name, path in (spec["stage"] | layers).items()}
    kernel.mount("tmpfs", STAGE, "tmpfs", 0)
    for name, source in sources.items():
        fast_files.make_folder(f"{STAGE}/{name}")
        kernel.mount(
            f"/proc/self/fd/{source}", f"{STAGE}/{name}", None, kernel.BIND | kernel.RECURSIVE
        )
        os.close(source)
    for name, room in spec["rooms"].items():
        _make_room(f"{STAGE}/{name}", room, owner)


def _make_room(path: str, room: move_in.Room, owner: int) -> None:
    layers = [f"{path}.{number}" for number in range(len(room["layers"]))]
    flags = kernel.NO_SET_USER | kernel.NO_DEVICES
    bounds = f"size={room['bytes']},nr_inodes={room['files']}"
    belongs = f"mode={room['mode']},uid={owner},gid={owner}"
    fast_files.make_folder(path)
    if not layers:
        kernel.mount("tmpfs", path, "tmpfs", flags, f"{bounds},{belongs}")
    elif room["overlay"]:
        changes = f"{path}.changes"
        fast_files.make_folder(changes)
        kernel.mount("tmpfs", changes, "tmpfs", flags, f"{bounds},{belongs}")
        for name in ("upper", "work"):
            fast_files.make_folder(f"{changes}/{name}")
            os.chown(f"{changes}/{name}", owner, owner)
        # The topmost comes first there.
        options = f"lowerdir={':'.join(reversed(layers))},upperdir={changes}/upper"
        options += f",workdir={changes}/work,userxattr"
        kernel.mount("overlay", path, "overlay", flags, options)
    else:
        kernel.mount("tmpfs", path, "tmpfs", flags, belongs)
        for layer in layers:
            _copy(layer, path, owner)
        held = os.statvfs(path)
        used_bytes = (held.f_blocks - held.f_bfree) * held.f_frsize
        used_files = held.f_files - held.f_ffree
        bounds = f"size={used_bytes + room['bytes']},nr_inodes={used_files + room['files']}"
        kernel.mount("tmpfs", path, None, flags | kernel.REMOUNT, bounds)


def _copy(layer: str, target: str, owner: int) -> None:
    """Without a process of its own: the first one that is forked here is to be process 1."""

    def as_it_is(source: str, copy: str) -> None:
        shutil.copy2(source, copy, follow_symlinks=False)
        os.chown(copy, owner, owner, follow_symlinks=False)

    shutil.copytree(layer, target, symlinks=True, copy_function=as_it_is, dirs_exist_ok=True)
    for folder, _, _ in os.walk(target):
        os.chown(folder, owner, owner)


def _launch(spec: move_in.SandboxSpec, control: int, starter: int) -> NoReturn:
    """Make the namespaces that `bwrap` is not asked for, have process 1 in them, wait for it."""
    processes = kernel.NEW_PID | kernel.NEW_NET
    if os.geteuid() == 0:
        kernel.unshare(kernel.NEW_MOUNTS, "run as an ordinary user, or give root CAP_SYS_ADMIN")
        _stage_folders(spec, SANDBOX_UID)
        kernel.become_user(SANDBOX_UID)
        kernel.unshare_user(processes, inside=0)
    else:
        kernel.unshare_user(kernel.NEW_MOUNTS | processes, inside=0)
        _stage_folders(spec, 0)
    # Changing ids has cleared it; and it may have been too late.
    kernel.die_with_parent()
    if os.getppid() != starter:
        sys.exit("the runner is gone")
    ended, here = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(here)
        move_in.move_in_and_serve(spec, socket.socket(fileno=control), parent_ended=ended)
    os.closerange(0, here)
    os.closerange(here + 1, 1024)
    os.waitpid(process, 0)
    os._exit(0)


class _SpareProcess:
    """A process that has joined its control groups, and waits to be told what to launch.

    Joining takes the kernel longer than all the rest, so it is done ahead of time. Beside it waits
    the sandbox's warden.
    """

    def __init__(self, groups: list[str]) -> None:
        self.groups = groups
        self._near, far = socket.socketpair()
        self.pid = _fork(lambda: _wait_for_request(groups, far))
        far.close()
        self.descriptor = os.pidfd_open(self.pid)
        self.to_warden, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.warden = _fork(lambda: _keep_watch(groups, far))
        far.close()
        self.warden_descriptor = os.pidfd_open(self.warden)

    def start(self, spec: bytes, descriptors: list[int]) -> None:
        socket.send_fds(self._near, [spec], descriptors)

    def close(self) -> None:
        """Let go of it; one that was told nothing ends."""
        self._near.close()
        self.to_warden.close()
        os.close(self.descriptor)
        os.close(self.warden_descriptor)


def _fork(work: Callable[[], NoReturn]) -> int:
    process = os.fork()
    if process == 0:
        work()
    return process


def _keep_watch(groups: list[str], control: socket.socket) -> NoReturn:
    starter = os.getppid()
    _join(groups)
    folders = [each.rpartition("/")[0] for each in groups]
    warden.watch_over(control, starter=starter, uid=SANDBOX_UID, groups=folders)


def _wait_for_request(groups: list[str], requests: socket.socket) -> NoReturn:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    starter = os.getppid()
    kernel.die_with_parent()
    os.closerange(3, requests.fileno())
    os.closerange(requests.fileno() + 1, 1024)
    os.setsid()
    not_joined = _join(groups)
    request, descriptors, _, _ = socket.recv_fds(requests, 1 << 16, 2)
    if not request:
        os._exit(0)
    control, log = descriptors
    os.dup2(log, 2)
    if not_joined is not None:
        _give_up(not_joined)
    try:
        _launch(json.loads(request), control, starter)
    except Exception as error:  # noqa: BLE001  # whatever it is, it is looked for in the log
        _give_up(error)
    except SystemExit as error:
        _give_up(error)


def _give_up(why: BaseException) -> NoReturn:
    os.write(2, (str(why) or repr(why)).encode())
    os._exit(1)


def _join(groups: list[str]) -> OSError | None:
    """Join control groups; what went wrong is told later, when there is a log to tell it in."""
    try:
        for group in groups:
            kernel.write(group, "0")
    except OSError as error:
        return error
    return None


def main() -> None:
    """Start a sandbox for each request on the socket that is the standard input.

    A request is JSON, `{"groups", "spec", "next"}`, with two descriptors: the sandbox's socket to
    the runner, and a log. `groups` are the control groups to join (paths of `cgroup.procs` files),
    `next` those of the sandbox after this one. The answer are the process ids of the sandbox and of
    its warden, with descriptors of both processes and the socket to the warden. Whatever was
    started dies with this process, and this process with the runner.
    """
    runner = int(sys.argv[1])
    kernel.die_with_parent()
    if os.getppid() != runner:
        sys.exit("the runner is gone")
    # What process 1 shows of itself inside, it has from here.
    kernel.show_as("sandbox")
    move_in.import_all()
    gc.freeze()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Nobody asks for exit codes here, so nobody has to be waited for.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    requests = socket.socket(fileno=os.dup(0))
    spare: _SpareProcess | None = None
    while True:
        message, descriptors, _, _ = socket.recv_fds(requests, 1 << 16, 2)
        if not message:
            return
        request = json.loads(message)
        if spare is not None and spare.groups != request["groups"]:
            spare.close()
            spare = None
        spare = spare or _SpareProcess(request["groups"])
        spare.start(json.dumps(request["spec"]).encode(), descriptors)
        socket.send_fds(
            requests,
            [f"{spare.pid} {spare.warden}".encode()],
            [spare.descriptor, spare.warden_descriptor, spare.to_warden.fileno()],
        )
        spare.close()
        for descriptor in descriptors:
            os.close(descriptor)
        spare = _SpareProcess(request["next"])
