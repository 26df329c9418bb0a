"""One call for each process and place, however often it is tried."""

from collections import Counter
from collections.abc import Hashable
from dataclasses import replace

from assay_sandboxes.port import UNKNOWN_PLACE, ObservedCall


class LogicalCalls:
    """Takes attempts, gives calls; what one command does cannot hide what another does."""

    def __init__(self, *, most_by_command: int = 1000) -> None:
        """Of one command no more than `most_by_command` calls are listed."""
        self._most_by_command = most_by_command
        self._first: dict[Hashable, ObservedCall] = {}
        self._attempts: Counter[Hashable] = Counter()
        self._by_command: Counter[tuple[str, str | None]] = Counter()

    def add(self, attempt: ObservedCall) -> None:
        key = self._key(attempt)
        if key not in self._first:
            command = attempt.command, attempt.cwd
            if self._by_command[command] >= self._most_by_command:
                return
            self._by_command[command] += 1
            self._first[key] = attempt
        self._attempts[key] += attempt.attempts

    def listed(self) -> list[ObservedCall]:
        """In the order of their first attempts."""
        return [replace(first, attempts=self._attempts[key]) for key, first in self._first.items()]

    def clear(self) -> None:
        self._first.clear()
        self._attempts.clear()
        self._by_command.clear()

    def _key(self, attempt: ObservedCall) -> Hashable:
        if attempt.process is not None:
            return attempt.process, attempt.destination
        if attempt.destination == UNKNOWN_PLACE:  # two of them need not be one place
            return len(self._first), UNKNOWN_PLACE
        return attempt.command, attempt.cwd, attempt.destination
