"""Starting commands inside a sandbox, and ending all that they started."""

from __future__ import annotations

import _ctypes
import os
import resource
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
    from typing import NoReturn
else:
    import _signal as signal  # `signal` itself is slow to import, as `ctypes` is

CANNOT_RUN = 126

_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_FREEZE_ROUNDS = 200
_DEATH_S = 5.0

_PRCTL = _ctypes.dlsym(_ctypes.dlopen(None, os.RTLD_NOW), "prctl")  # type: ignore[arg-type]


def _prctl(option: int, value: int) -> None:
    _ctypes.call_function(_PRCTL, (option, value, 0, 0, 0))


def hide() -> None:
    """Let nobody of the same user id look into this process or take its descriptors."""
    _prctl(_PR_SET_DUMPABLE, 0)


def show() -> None:
    """Undo `hide`."""
    _prctl(_PR_SET_DUMPABLE, 1)


def adopt_orphans() -> None:
    """Stay above all that this process starts, however detached."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def give_up_new_privileges() -> None:
    """From here on, no program gains rights by being started: `sudo` is one like any other."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def become_user(uid: int, gid: int) -> None:
    """Give up root for a user; who is not root stays who they are."""
    if os.geteuid() == 0 and uid != 0:
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)


def bound(limits: dict[str, int]) -> None:
    """Bound what this process, and whatever it starts, may use."""
    memory = limits["memory_bytes"]
    for what, value in (
        (resource.RLIMIT_DATA, memory),
        # Some runtimes reserve far more address space than they use.
        (resource.RLIMIT_AS, 16 * memory),
        (resource.RLIMIT_NPROC, limits["processes"]),
        (resource.RLIMIT_FSIZE, limits["file_bytes"]),
        (resource.RLIMIT_CORE, 0),
    ):
        _, most = resource.getrlimit(what)
        least = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(what, (least, least))
    # Memory that runs out is taken from commands, not from those who watch them.
    show()
    with open("/proc/self/oom_score_adj", "w") as score:  # noqa: PTH123
        score.write("500")


def become(
    argv: list[str],
    *,
    cwd: str,
    environment: dict[str, str],
    out: int,
    err: int,
    prepare: Callable[[], None],
) -> NoReturn:
    """Make this process a command: nothing on its input, `out` and `err` its streams.

    `prepare` is called last, in the command's folder, with only its own streams open.
    """
    os.setsid()
    os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.chdir(cwd)
        prepare()
        os.closerange(3, 1024)
        os.execve(argv[0], argv, environment)  # noqa: S606
    except (OSError, ValueError) as error:
        os.write(2, ("cannot run the command: %s\n" % error).encode())  # noqa: UP031
    os._exit(CANNOT_RUN)


def exit_code(status: int) -> int:
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)


def descendants(root: int) -> set[int]:
    found: set[int] = set()
    pending = [root]
    while pending:
        folder = "/proc/%d/task" % pending.pop()  # noqa: UP031
        try:
            for thread in os.listdir(folder):  # noqa: PTH208
                with open(folder + "/" + thread + "/children") as children:  # noqa: PTH123
                    new = {int(child) for child in children.read().split()} - found
                found |= new
                pending += new
        except OSError:
            continue
    return found


def signal_all(processes: set[int], number: int) -> None:
    for process in processes:
        try:
            os.kill(process, number)
        except ProcessLookupError:
            continue


def kill_tree(root: int) -> bool:
    """End all that a process started, and return when it has ended.

    Freeze first: a frozen process starts no other, so none is missed. Returns whether that came
    to an end; where processes are started faster than they are frozen, it does not.
    """
    frozen: set[int] = set()
    for _ in range(_FREEZE_ROUNDS):
        new = descendants(root) - frozen
        if not new:
            signal_all(frozen, signal.SIGKILL)
            deadline = time.monotonic() + _DEATH_S
            while any(map(_is_alive, frozen)) and time.monotonic() < deadline:
                time.sleep(0.001)
            return True
        signal_all(new, signal.SIGSTOP)
        frozen |= new
    return False


def _is_alive(process: int) -> bool:
    try:
        with open("/proc/%d/stat" % process) as status:  # noqa: PTH123, UP031
            return status.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
