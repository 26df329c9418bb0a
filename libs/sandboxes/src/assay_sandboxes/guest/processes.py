"""Starting commands inside a sandbox, and ending all that they started."""

from __future__ import annotations

import _ctypes
import os
import resource
import time

from assay_sandboxes.guest import fast_files

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

_PROGRAM_ITSELF = _ctypes.dlopen(None, os.RTLD_NOW)  # type: ignore[arg-type]  # typed too narrowly
_PRCTL = _ctypes.dlsym(_PROGRAM_ITSELF, "prctl")


def _prctl(option: int, value: int) -> None:
    _ctypes.call_function(_PRCTL, (option, value, 0, 0, 0))


def hide_from_others() -> None:
    """Let nobody of the same user id look into this process or take its descriptors."""
    _prctl(_PR_SET_DUMPABLE, 0)


def show_to_others() -> None:
    """Undo `hide_from_others`."""
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


def apply_limits(limits: dict[str, int]) -> None:
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
    show_to_others()
    fast_files.write_text("/proc/self/oom_score_adj", "500")


def become_command(
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
        os.execve(argv[0], argv, environment)  # noqa: S606  # running commands is what it is for
    except (OSError, ValueError) as error:
        os.write(2, f"cannot run the command: {error}\n".encode())
    os._exit(CANNOT_RUN)


def wake_on_ended_children() -> int:
    """A descriptor that can be read whenever a child of this process has ended."""
    woken, wake = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    return woken


def point_nowhere(*descriptors: int) -> None:
    nothing = os.open("/dev/null", os.O_RDWR)
    for descriptor in descriptors:
        os.dup2(nothing, descriptor)


def exit_code(status: int) -> int:
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)


def descendants(root: int) -> set[int]:
    found: set[int] = set()
    pending = [root]
    while pending:
        folder = f"/proc/{pending.pop()}/task"
        try:
            for thread in fast_files.names_in(folder):
                children = fast_files.read_text(f"{folder}/{thread}/children").split()
                new = set(map(int, children)) - found
                found |= new
                pending += new
        except OSError:
            continue
    return found


def processor_seconds(processes: set[int]) -> float:
    """What these processes, and those of their children that have ended, have worked so far."""
    ticks = 0
    for process in processes:
        try:
            status = fast_files.read_text(f"/proc/{process}/stat")
        except OSError:
            continue
        # Behind the name: of itself in user and system mode, then of its children likewise.
        ticks += sum(map(int, status.rpartition(")")[2].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


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
        status = fast_files.read_text(f"/proc/{process}/stat")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"
