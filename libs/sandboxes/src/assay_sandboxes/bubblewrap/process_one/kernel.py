"""Calls of the kernel that the standard library lacks: namespaces, mounts, capabilities."""

from __future__ import annotations

import ctypes
import os
import signal

from assay_sandboxes.guest import fast_files

NEW_MOUNTS = 0x00020000
NEW_CGROUP = 0x02000000
NEW_UTS = 0x04000000
NEW_IPC = 0x08000000
NEW_USER = 0x10000000
NEW_PID = 0x20000000
NEW_NET = 0x40000000

NO_SET_USER = 0x2
NO_DEVICES = 0x4
REMOUNT = 0x20
BIND = 0x1000
RECURSIVE = 0x4000
SLAVE = 0x80000

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_CAPBSET_DROP = 24
_CAPABILITIES_VERSION_3 = 0x20080522
_CAP_BLOCK_SUSPEND = 36

_libc = ctypes.CDLL(None, use_errno=True)


class Refused(Exception):
    """The kernel refused; says what, and where it helps, what to do."""


def _check(result: int, what: str) -> None:
    if result < 0:
        raise Refused(f"{what}: {os.strerror(ctypes.get_errno())}")


def write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def unshare(flags: int, advice: str) -> None:
    """Move this process, or for `NEW_PID` its children, into new namespaces."""
    _check(_libc.unshare(flags), f"cannot make namespaces ({advice})")


def unshare_user(also: int, inside: int) -> None:
    """Move into a new user namespace, where this process is user and group `inside`.

    It has every right over that namespace, and over those of `also`.
    """
    uid, gid = os.geteuid(), os.getegid()
    unshare(
        NEW_USER | also,
        "allow unprivileged user namespaces: sysctl kernel.unprivileged_userns_clone=1, "
        "user.max_user_namespaces above 0, kernel.apparmor_restrict_unprivileged_userns=0",
    )
    write("/proc/self/setgroups", "deny")
    write("/proc/self/uid_map", f"{inside} {uid} 1")
    write("/proc/self/gid_map", f"{inside} {gid} 1")


def no_more_user_namespaces_than_one() -> None:
    """Let there be one user namespace below this one and no other, whoever asks."""
    write("/proc/sys/user/max_user_namespaces", "1")


def enter(process: int, flags: int) -> None:
    """Move into namespaces of the process with that pid."""
    descriptor = os.pidfd_open(process)
    try:
        _check(_libc.setns(descriptor, flags), "cannot enter namespaces (Linux 5.8 can)")
    finally:
        os.close(descriptor)


def mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    _check(
        _libc.mount(
            source.encode(),
            target.encode(),
            kind and kind.encode(),
            flags,
            options.encode() or None,
        ),
        "cannot mount " + target,
    )


def become_user(uid: int) -> None:
    """Give up root."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    # Changing ids made /proc/self root's, and the maps of a user namespace are written there.
    _libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)


def die_with_parent() -> None:
    """Be killed when the parent ends; to be said again after ids have changed."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def give_up_capabilities() -> None:
    """Have no capability in effect, and let no program started from here have any.

    One stays permitted, out of effect and of no use in a user namespace: the kernel lets nobody
    look into a process that may have a capability which they may not, so none of the programs that
    are started here can look into this process or its forks. Starting a program gives it up.
    """
    capability = 0
    while _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) == 0:
        capability += 1
    header = (ctypes.c_uint32 * 2)(_CAPABILITIES_VERSION_3, 0)
    low, high = (0, 0, 0), (0, 1 << (_CAP_BLOCK_SUSPEND - 32), 0)  # effective, permitted, inherited
    _check(_libc.capset(header, (ctypes.c_uint32 * 6)(*low, *high)), "cannot give up capabilities")


def show_as(name: str) -> None:
    """Show `name`, and nothing of how it was started, as this process's command line."""
    write("/proc/self/comm", name)
    fields = fast_files.read_text("/proc/self/stat").rpartition(")")[2].split()
    start, end = int(fields[45]), int(fields[46])
    ctypes.memset(start, 0, end - start)
    ctypes.memmove(start, name.encode(), min(len(name), end - start - 1))
