"""What a sandbox was seen to try, call by call."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Final, Literal, TypedDict

from assay_sandboxes.own_names import without_search_domain

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from assay_sandboxes.bubblewrap.warden.calling_processes import CallingProcess

Problem = Literal["unresolved", "denied", "unreachable"]
"""A name led to no address, a rule forbids the place, or nobody there can be reached."""
UNKNOWN_PLACE: Final = "unknown"
"""Where a call went that only the kernel counted."""
_MOST_UNSEEN: Final = 1000
"""Of what only the kernel counted, no more is listed."""
_MOST_BY_COMMAND: Final = 1000
_MOST: Final = 20_000
"""So many places are told apart; of the look-ups, so many for each."""


class SeenCall(TypedDict):
    """One process reaching for one place, however often it tries."""

    at: float
    """Of the first attempt."""
    destination: str
    command: int | None
    process: str | None
    programs: Sequence[Sequence[str]]
    attempts: int
    problem: Problem | None
    """Why it got nowhere, where that is known."""
    refused: str | None
    """Why it was denied: what the rules have against the place."""


class CallLedger:
    """What was seen, without counting one call twice.

    One look-up of a name is one attempt, though a resolver asks for both kinds of address, asks
    under search domains and asks again over another transport. One `connect`, or one datagram
    sent, to an address that is not the sandbox's own loopback is one attempt. Attempts of one
    process for one place are one call. Where the kernel counted more than was seen, the rest is
    listed as `unknown`.
    """

    def __init__(
        self, without_route: Callable[[], int] = lambda: 0, *, search: Sequence[str] = ()
    ) -> None:
        """Nothing is seen yet.

        Args:
            without_route: The kernel's own count of what had no way out.
            search: Domains that the sandbox's resolver puts behind names it does not find.
        """
        self._without_route = without_route
        self._search = search
        self._calls: dict[Hashable, SeenCall] = {}
        self._by_command: Counter[int | None] = Counter()
        self._let_go_on = 0
        self._looked_up: Counter[tuple[str | None, int | None, str]] = Counter()
        self._asked: Counter[tuple[str | None, int | None, str, int]] = Counter()
        self._resolved: dict[str, bool] = {}
        """Whether a name led to any address."""
        self._baseline = without_route()

    def address(
        self,
        destination: str,
        caller: CallingProcess | None,
        *,
        refused: str | None = None,
        let_go_on: bool = False,
    ) -> None:
        """Enter an attempt to reach an address; the kernel counts those that were `let_go_on`."""
        self._let_go_on += let_go_on
        self._enter(destination, caller)
        if let_go_on:
            self.came_of(destination, caller, "unreachable")
        elif refused:
            self.came_of(destination, caller, "denied", refused)

    def lookup(self, name: str, kind: int, caller: CallingProcess | None) -> None:
        """Enter a question for a name; `kind` is the DNS record type."""
        who = (caller.process, caller.command) if caller else (None, None)
        meant = self.meant(name)
        if len(self._asked) >= _MOST:
            self._asked.clear()
            self._looked_up.clear()
        self._asked[*who, name, kind] += 1
        if self._asked[*who, name, kind] > self._looked_up[*who, meant]:
            self._looked_up[*who, meant] += 1
            self._enter(meant, caller)

    def answered(self, name: str, *, found: bool) -> None:
        """Note whether a name led anywhere."""
        meant = self.meant(name)
        if len(self._resolved) < _MOST or meant in self._resolved:
            self._resolved[meant] = found or self._resolved.get(meant, False)

    def has_looked_up(self, name: str, caller: CallingProcess) -> bool:
        return self._looked_up[caller.process, caller.command, name] > 0

    def meant(self, name: str) -> str:
        """The name that a program asked for, without what its resolver put behind it."""
        return without_search_domain(name, self._search)

    def came_of(
        self,
        destination: str,
        caller: CallingProcess | None,
        problem: Problem | None,
        refused: str | None = None,
    ) -> None:
        """Note what came of the latest attempt for a place."""
        call = self._calls.get(_key(destination, caller))
        if call is not None:
            call["problem"], call["refused"] = problem, refused

    def settle(self) -> None:
        """Enter what the kernel counted and nobody else saw."""
        unseen = self._without_route() - self._baseline - self._let_go_on
        for _ in range(min(unseen, _MOST_UNSEEN)):
            self.address(UNKNOWN_PLACE, None, let_go_on=True)

    def listed(self) -> list[SeenCall]:
        """In the order of their first attempts."""
        self.settle()
        for call in self._calls.values():
            if call["problem"] is None and self._resolved.get(call["destination"]) is False:
                call["problem"] = "unresolved"
        return list(self._calls.values())

    def forget(self) -> int:
        """Start over: what was seen so far was our own doing. How many attempts that were."""
        attempts = sum(call["attempts"] for call in self._calls.values())
        self._calls.clear()
        self._by_command.clear()
        self._looked_up.clear()
        self._asked.clear()
        self._resolved.clear()
        self._let_go_on = 0
        self._baseline = self._without_route()
        return attempts

    def _enter(self, destination: str, caller: CallingProcess | None) -> None:
        command = caller.command if caller else None
        key = _key(destination, caller)
        if destination == UNKNOWN_PLACE:  # two of them need not be one place
            key = len(self._calls), UNKNOWN_PLACE
        call = self._calls.get(key)
        if call is not None:
            call["attempts"] += 1
            return
        if self._by_command[command] >= _MOST_BY_COMMAND or len(self._calls) >= _MOST:
            return
        self._by_command[command] += 1
        self._calls[key] = SeenCall(
            at=time.time(),
            destination=destination,
            command=command,
            process=caller.process if caller else None,
            programs=caller.programs if caller else (),
            attempts=1,
            problem=None,
            refused=None,
        )


def _key(destination: str, caller: CallingProcess | None) -> Hashable:
    if caller is None or caller.process is None:
        return None, caller.command if caller else None, destination
    return caller.process, destination
