"""Which process makes a system call: what it runs, and who started it.

Read from `/proc`, so a process is certain (its number and when it started), while its command line
is what it shows of itself.
"""

from __future__ import annotations

import os

from assay_sandboxes.guest import fast_files

SHOWN_CHARS = 500
"""Of a command line."""
_COMMAND_LINE_BYTES = 4096
_GENERATIONS = 12
_START_TIME = 19
"""Field of `stat`, counted from behind the name of the program."""


class Caller:
    """A process, and those above it up to the command."""

    __slots__ = ("process", "processes", "programs")

    def __init__(
        self, process: str, processes: tuple[int, ...], programs: tuple[tuple[str, str], ...]
    ) -> None:
        self.process = process
        """Its number and start time: never another's, for as long as the machine is up."""
        self.processes = processes
        """Its number, then those of whoever started it."""
        self.programs = programs
        """Command line and folder of each of them."""


class Callers:
    """Tells who makes a call, without reading the same twice."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Caller] = {}

    def caller(self, thread: int) -> Caller:
        """Who this thread is.

        Raises:
            OSError: it has ended, or may not be looked at.
        """
        number = _status(thread)["Tgid"]
        start = fast_files.read_text(f"/proc/{number}/stat").rpartition(")")[2].split()[_START_TIME]
        process = f"{number}-{start}"
        # A process may become another program and stays the same process.
        shown = command_line(int(number))
        found = self._known.get((process, shown))
        if found is None:
            if len(self._known) >= 1000:  # noqa: PLR2004  # only to bound it
                self._known.clear()
            processes = _with_those_above(int(number))
            programs = tuple((command_line(each), _folder(each)) for each in processes)
            found = self._known[process, shown] = Caller(process, processes, programs)
        return found


def command_line(process: int) -> str:
    """As far as it is shown; empty where it is not."""
    try:
        with open(f"/proc/{process}/cmdline", "rb") as file:  # noqa: PTH123  # slow to import
            words = file.read(_COMMAND_LINE_BYTES)
    except OSError:
        return ""
    return words.rstrip(b"\0").replace(b"\0", b" ").decode(errors="replace")[:SHOWN_CHARS]


def _folder(process: int) -> str:
    try:
        return os.readlink(f"/proc/{process}/cwd")  # noqa: PTH115  # `pathlib` is slow to import
    except OSError:
        return ""


def _with_those_above(process: int) -> tuple[int, ...]:
    """Up to process 1 of its sandbox, or to whoever looks, neither of which is among them."""
    found: list[int] = []
    while process > 1 and process != os.getpid() and len(found) < _GENERATIONS:
        try:
            status = _status(process)
        except OSError:
            break
        if status.get("NSpid", "").split()[1:][-1:] == ["1"]:
            break
        found.append(process)
        process = int(status["PPid"])
    return tuple(found)


def _status(process: int) -> dict[str, str]:
    lines = fast_files.read_text(f"/proc/{process}/status").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
