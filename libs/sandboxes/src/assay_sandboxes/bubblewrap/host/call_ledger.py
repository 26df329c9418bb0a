"""What a sandbox without a network was seen to try, call by call."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, NamedTuple

from assay_sandboxes.port import COMMAND_CHARS, ObservedCall

UNKNOWN: Final = "unknown"
_LISTED: Final = 1000
"""Calls beyond this many are not listed."""


class _Command(NamedTuple):
    text: str
    cwd: str | None
    """None where the command is but the likeliest."""


class CallLedger:
    """What was seen, without counting one call twice.

    One look-up of a name is one call, though a resolver asks for both kinds of address. One
    `connect`, or one datagram sent, to an address that is not the sandbox's own loopback is one
    call. Where the kernel counted more than was seen, the rest is listed as `unknown`.
    """

    def __init__(self, without_route: Callable[[], int]) -> None:
        self._without_route = without_route
        self._commands: dict[int, _Command] = {}
        self._calls: list[ObservedCall] = []
        self._addressed = 0
        self._looked_up: Counter[tuple[_Command, str]] = Counter()
        self._asked: Counter[tuple[_Command, str, int]] = Counter()
        self._baseline = without_route()

    def command_started(self, number: int, command: str, cwd: str) -> None:
        self._commands[number] = _Command(command[:COMMAND_CHARS], cwd)

    def address(self, destination: str, number: int | None) -> None:
        """Enter a call to an address by the command of that number, or else the last one."""
        self._addressed += 1
        self._enter(destination, self._command(number))

    def lookup(self, name: str, kind: int, number: int | None) -> None:
        """Enter a question for a name; `kind` is the DNS record type."""
        command = self._command(number)
        self._asked[command, name, kind] += 1
        if self._asked[command, name, kind] > self._looked_up[command, name]:
            self._looked_up[command, name] += 1
            self._enter(name, command)

    def settle(self) -> None:
        """Enter what the kernel counted and nobody else saw."""
        unseen = self._without_route() - self._baseline - self._addressed
        for _ in range(min(unseen, _LISTED)):
            self.address(UNKNOWN, None)

    def calls(self) -> list[ObservedCall]:
        self.settle()
        return list(self._calls)

    def forget(self) -> None:
        """Start over: what was seen so far was our own doing."""
        self._calls.clear()
        self._looked_up.clear()
        self._asked.clear()
        self._addressed = 0
        self._baseline = self._without_route()

    def _command(self, number: int | None) -> _Command:
        if number in self._commands:
            return self._commands[number]
        last = next(reversed(self._commands.values()), None)
        return _Command(last.text if last else "", None)

    def _enter(self, destination: str, command: _Command) -> None:
        if len(self._calls) < _LISTED:
            at = datetime.now(UTC)
            self._calls.append(ObservedCall(at, destination, command.text, command.cwd))
