"""Keeping a sandbox to its share of the machine's processors and memory.

A sandbox may use half a processor for as long as it likes, and more for a while: what it does not
use is saved up, as far as `_MOST_SAVED_S`. One that has used up what it saved steps back, behind
those that have not, until it has saved up again. By its control group where it has one, else by
the scheduling class of its processes (which only what is started later can be without again).

Memory is bounded by its control group too. Where there is none, what all processes hold together
is looked at, and the one that holds most is ended when it is too much, as the kernel would.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from assay_sandboxes.guest import fast_files, processes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

SHARE: Final = 0.5
"""Of one processor."""
_MOST_SAVED_S: Final = 3.0
_ENOUGH_SAVED_S: Final = 1.5
_PAUSE_S: Final = 0.2
_PAUSE_PER_COST: Final = 20
"""Looking takes at most a twentieth of a processor."""
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_USED: Final = slice(11, 15)
"""Fields of `stat` behind the name: time of its own, and of children that have ended."""
_RESIDENT: Final = 21
_SESSION: Final = 3
_DEAD: Final = ("Z", "X")
_MOST_SESSIONS: Final = 8
"""Where the kernel weighs sessions rather than processes, who steps back keeps so many."""
_AUTOGROUP_NICENESS: Final = "19"
_GROUPS_BY_SESSION: Final = "/proc/sys/kernel/sched_autogroup_enabled"


class Seen(NamedTuple):
    """What all of a sandbox's processes have used and hold."""

    seconds: float
    resident: dict[int, int]
    """Bytes, by process; what several hold together counts for each."""
    sessions: dict[int, tuple[float, list[int]]]
    """By its number: what a session has used, in seconds, and its processes."""


def look(root: int) -> Seen:
    """Look at process 1 of a sandbox and all below it."""
    total, resident = 0.0, {}
    sessions: dict[int, tuple[float, list[int]]] = {}
    for process in (root, *processes.descendants(root)):
        with suppress(OSError, IndexError, ValueError):
            fields = fast_files.read_text(f"/proc/{process}/stat").rpartition(")")[2].split()
            used = sum(map(int, fields[_USED])) / _TICKS
            total += used
            if process != root and fields[0] not in _DEAD:
                resident[process] = int(fields[_RESIDENT]) * _PAGE
                before, members = sessions.get(int(fields[_SESSION]), (0.0, []))
                sessions[int(fields[_SESSION])] = before + used, [*members, process]
    return Seen(total, resident, sessions)


class Savings:
    """How much of the processors a sandbox may still use before it steps back."""

    def __init__(self) -> None:
        self._saved = _MOST_SAVED_S
        self.steps_back = False

    def spend(self, used_s: float, elapsed_s: float) -> bool:
        """Note what was used in a while; whether it has to step back, from now on."""
        self._saved = min(_MOST_SAVED_S, self._saved + SHARE * elapsed_s - used_s)
        self._saved = max(self._saved, -_MOST_SAVED_S)
        if self._saved <= 0:
            self.steps_back = True
        elif self._saved >= _ENOUGH_SAVED_S:
            self.steps_back = False
        return self.steps_back


class ShareKeeper:
    """Looks at one sandbox from time to time."""

    def __init__(
        self,
        root: int,
        *,
        weights: Iterable[tuple[int, str, str]],
        memory_bytes: int | None,
        ending_for_memory: Callable[[], object],
    ) -> None:
        """Watch over process 1 of a sandbox and all below it.

        Args:
            root: Process 1.
            weights: Files of its control groups that say what it weighs: descriptor, the usual
                weight, and the one of who steps back. Without any, processes are told one by one.
            memory_bytes: What all may hold together; none where the kernel sees to it.
            ending_for_memory: Told before a process is ended because it is more.
        """
        self._root = root
        self._weights = list(weights)
        self._memory_bytes = memory_bytes
        self._savings = Savings()
        self._stepped_back = False
        self._demoted: set[int] = set()
        self._used_by_session: dict[int, float] = {}
        self._ending_for_memory = ending_for_memory

    async def keep(self) -> None:
        """Look, to the end."""
        last, used = time.monotonic(), 0.0
        pause = _PAUSE_S
        while True:
            await asyncio.sleep(pause)
            began, cost = time.monotonic(), time.process_time()
            seen = look(self._root)
            # Time of children that nobody waited for is lost with them: somebody is busy.
            spent = seen.seconds - used if seen.seconds >= used else (began - last)
            self._step_back(seen, back=self._savings.spend(spent, began - last))
            self._bound_memory(seen)
            last, used = began, seen.seconds
            pause = max(_PAUSE_S, _PAUSE_PER_COST * (time.process_time() - cost))

    def _step_back(self, seen: Seen, *, back: bool) -> None:
        if self._weights and back != self._stepped_back:
            for descriptor, usual, less in self._weights:
                with suppress(OSError):
                    os.pwrite(descriptor, (less if back else usual).encode(), 0)
        if not self._weights and back:
            self._demote(seen.resident)
            self._demote_sessions(seen)
        self._stepped_back = back
        self._used_by_session = {each: used for each, (used, _) in seen.sessions.items()}

    def _demote(self, everyone: Collection[int]) -> None:
        """Let the kernel run these when nobody else wants to."""
        for process in set(everyone) - self._demoted:
            with suppress(OSError):
                for thread in fast_files.names_in(f"/proc/{process}/task"):
                    os.sched_setscheduler(int(thread), os.SCHED_IDLE, os.sched_param(0))
                self._demoted.add(process)
        self._demoted &= set(everyone)

    def _demote_sessions(self, seen: Seen) -> None:
        """Where the kernel weighs each session apart, weigh busy ones less, and end very many.

        It lets an ordinary user change the weight of ten sessions a second, so many cannot be.
        """
        if not fast_files.exists(_GROUPS_BY_SESSION):
            return
        busy = [
            (used - self._used_by_session.get(number, 0.0), members)
            for number, (used, members) in seen.sessions.items()
            if used > self._used_by_session.get(number, 0.0)
        ]
        busiest_last = [members for _, members in sorted(busy)]
        for members in busiest_last[:_MOST_SESSIONS]:
            with suppress(OSError):  # too many changes at once: then the next time
                fast_files.write_text(f"/proc/{members[0]}/autogroup", _AUTOGROUP_NICENESS)
        for members in busiest_last[_MOST_SESSIONS:]:
            processes.signal_all(set(members), signal.SIGKILL)

    def let_end(self) -> None:
        """Let it come to its end with its usual weight: it is about to."""
        self._savings = Savings()
        for descriptor, usual, _ in self._weights:
            with suppress(OSError):
                os.pwrite(descriptor, usual.encode(), 0)

    def _bound_memory(self, seen: Seen) -> None:
        most = self._memory_bytes
        if most is None or sum(seen.resident.values()) <= most:
            return
        held = {process: _proportional_bytes(process) for process in seen.resident}
        if sum(held.values()) > most:
            self._ending_for_memory()
            with suppress(OSError):
                os.kill(max(held, key=lambda process: held[process]), signal.SIGKILL)


def _proportional_bytes(process: int) -> int:
    """What a process holds, where several hold it together its part of it."""
    with suppress(OSError, ValueError):
        for line in fast_files.read_text(f"/proc/{process}/smaps_rollup").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0
