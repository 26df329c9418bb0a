"""What a sandbox was seen to try, call by call."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from assay_sandboxes.bubblewrap.host.calling_processes import CallingProcess
from assay_sandboxes.logical_calls import LogicalCalls
from assay_sandboxes.own_names import without_search_domain
from assay_sandboxes.port import COMMAND_CHARS, UNKNOWN_PLACE, ObservedCall

_MOST_UNSEEN: Final = 1000
"""Of what only the kernel counted, no more is listed."""


class _Command(NamedTuple):
    text: str
    cwd: str | None
    """None where the command is but the likeliest."""


class CallLedger:
    """What was seen, without counting one call twice.

    One look-up of a name is one attempt, though a resolver asks for both kinds of address. One
    `connect`, or one datagram sent, to an address that is not the sandbox's own loopback is one
    attempt. Attempts of one process for one place are one call. Where the kernel counted more
    than was seen, the rest is listed as `unknown`.
    """

    def __init__(
        self, without_route: Callable[[], int] = lambda: 0, *, search: Sequence[str] = ()
    ) -> None:
        """Nothing is seen yet.

        Args:
            without_route: The kernel's own count; where there is a way out, it keeps none.
            search: Domains that the sandbox's resolver puts behind names it does not find.
        """
        self._without_route = without_route
        self._search = search
        self._commands: dict[int, _Command] = {}
        self._calls = LogicalCalls()
        self._addressed = 0
        self._looked_up: Counter[tuple[_Command, str | None, str]] = Counter()
        self._asked: Counter[tuple[_Command, str | None, str, int]] = Counter()
        self._baseline = without_route()

    def command_started(self, number: int, command: str, cwd: str) -> None:
        self._commands[number] = _Command(command[:COMMAND_CHARS], cwd)

    def address(self, destination: str, caller: CallingProcess | None) -> None:
        """Enter an attempt to reach an address; by the last command if nobody knows by whom."""
        self._addressed += 1
        self._enter(destination, caller)

    def lookup(self, name: str, kind: int, caller: CallingProcess | None) -> None:
        """Enter a question for a name; `kind` is the DNS record type."""
        who = self._command(caller), caller.process if caller else None
        meant = self.meant(name)
        self._asked[*who, name, kind] += 1
        if self._asked[*who, name, kind] > self._looked_up[*who, meant]:
            self._looked_up[*who, meant] += 1
            self._enter(meant, caller)

    def has_looked_up(self, name: str, caller: CallingProcess) -> bool:
        return self._looked_up[self._command(caller), caller.process, name] > 0

    def meant(self, name: str) -> str:
        """The name that a program asked for, without what its resolver put behind it."""
        return without_search_domain(name, self._search)

    def settle(self) -> None:
        """Enter what the kernel counted and nobody else saw."""
        unseen = self._without_route() - self._baseline - self._addressed
        for _ in range(min(unseen, _MOST_UNSEEN)):
            self.address(UNKNOWN_PLACE, None)

    def calls(self) -> list[ObservedCall]:
        self.settle()
        return self._calls.listed()

    def forget(self) -> None:
        """Start over: what was seen so far was our own doing."""
        self._calls.clear()
        self._looked_up.clear()
        self._asked.clear()
        self._addressed = 0
        self._baseline = self._without_route()

    def _command(self, caller: CallingProcess | None) -> _Command:
        if caller is not None and caller.command in self._commands:
            return self._commands[caller.command]
        last = next(reversed(self._commands.values()), None)
        return _Command(last.text if last else "", None)

    def _enter(self, destination: str, caller: CallingProcess | None) -> None:
        command = self._command(caller)
        self._calls.add(
            ObservedCall(
                at=datetime.now(UTC),
                destination=destination,
                command=command.text,
                cwd=command.cwd,
                process=caller.process if caller else None,
                programs=caller.programs if caller else (),
            )
        )
