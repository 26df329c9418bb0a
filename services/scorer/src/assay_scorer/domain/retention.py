"""What is kept of the traces and reports of validations, and for how long."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final, Literal
from uuid import UUID

from assay_contracts.base import Model

Kind = Literal["traces", "reports"]

HALF_WRITTEN_AFTER: Final = timedelta(hours=1)
"""Nobody writes one trace or one report for that long."""
SAID_FOR: Final = timedelta(days=30)
"""How long what was said can be looked up in the outbox: as long as facts stay on the bus."""
_ID_CHARS: Final = 36


class OwningValidation(Model):
    """The validation that a trace or a report belongs to, as far as it matters here."""

    validation_id: UUID
    ended_at: datetime | None
    """None while it is under way."""
    live: bool
    """The newest of its revision, or what a runtime version was approved by."""
    cited: frozenset[str]
    """The traces that its result rests on."""


def belongs_to(key: str) -> UUID | None:
    """The validation that a trace or a report is of; None for what is neither."""
    try:
        return UUID(key[:_ID_CHARS])
    except ValueError:
        return None


def wanted(
    kind: Kind, key: str, of: OwningValidation | None, now: datetime, keep: timedelta
) -> bool:
    """Whether it is still needed.

    Args:
        kind: What it is.
        key: Where it lies.
        of: The validation that it belongs to; None if its skill was deleted.
        now: The time.
        keep: How long what is no longer live is kept after its end.
    """
    if of is None:
        return False
    if of.ended_at is None:
        return True
    if kind == "traces" and key not in of.cited:
        # An attempt whose result was not taken.
        return False
    return of.live or now - of.ended_at < keep


class OverdueObjects:
    """Remembers since when things have looked unwanted.

    What is being written looks so for a moment, and clocks of writers prove nothing.
    """

    def __init__(self, after: timedelta) -> None:
        self._after = after
        self._first_seen: dict[str, datetime] = {}

    def overdue(self, unwanted: Iterable[str], now: datetime) -> list[str]:
        """Those that have looked unwanted each time they were asked about, and for long enough."""
        self._first_seen = {each: self._first_seen.get(each, now) for each in unwanted}
        return [each for each, seen in self._first_seen.items() if now - seen >= self._after]
