"""Which process of a sandbox a call comes from, and which command that belongs to."""

from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from assay_sandboxes.guest import fast_files
from assay_sandboxes.guest.callers import Callers
from assay_sandboxes.port import RunningProgram

_ENVIRONMENT_BYTES: Final = 256 * 1024


@dataclass(frozen=True, slots=True)
class CallingProcess:
    """Whoever makes a call."""

    command: int | None
    """The number of the command that it belongs to; none where that cannot be told."""
    process: str | None = None
    """As in `ObservedCall`."""
    programs: tuple[RunningProgram, ...] = ()


class CallingProcesses:
    """Tells who makes a call, and who asks the name server."""

    def __init__(self) -> None:
        self._callers = Callers()
        self._resolving: deque[tuple[int, CallingProcess]] = deque(maxlen=64)
        """Who lately turned to the name server: thread, and whose it is."""

    def of(self, thread: int) -> CallingProcess:
        """Whose thread it is.

        Raises:
            OSError: it has ended, or may not be looked at.
        """
        caller = self._callers.caller(thread)
        return CallingProcess(
            command=_command_number(caller.processes or (thread,)),
            process=caller.process,
            programs=tuple(RunningProgram(*program) for program in caller.programs),
        )

    def turned_to_name_server(self, thread: int, caller: CallingProcess) -> None:
        self._resolving.append((thread, caller))

    def asking(self, port: int) -> CallingProcess | None:
        """Who asks the name server from a port.

        Whoever asks is waiting for the answer, so it can still be found by its open socket.
        """
        recent = list(reversed(self._resolving))
        for thread, caller in recent:
            with suppress(OSError):
                if _has_datagram_port(thread, port):
                    return caller
        return recent[0][1] if recent else None


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
    with Path(f"/proc/{process}/environ").open("rb", buffering=0) as environment:
        for variable in environment.read(_ENVIRONMENT_BYTES).split(b"\0"):
            name, _, value = variable.partition(b"=")
            if name == b"SANDBOX_COMMAND" and value.isdigit():
                return int(value)
    return None


def _has_datagram_port(process: int, port: int) -> bool:
    """Whether a process has a datagram socket open that is bound to a local port."""
    for table in ("udp", "udp6"):
        with suppress(FileNotFoundError):
            sockets = fast_files.read_text(f"/proc/{process}/net/{table}").splitlines()[1:]
            for fields in map(str.split, sockets):
                if int(fields[1].rpartition(":")[2], 16) == port:
                    name = f"socket:[{fields[9]}]"
                    if any(str(path.readlink()) == name for path in _descriptors(process)):
                        return True
    return False


def _descriptors(process: int) -> Iterator[Path]:
    return Path(f"/proc/{process}/fd").iterdir()
