"""What is kept of the traces and reports of validations, and for how long."""

from datetime import datetime, timedelta
from typing import Final, Literal
from uuid import UUID

from assay_contracts.base import Model

Kind = Literal["traces", "reports"]

_ID_CHARS: Final = 36


class Recorded(Model):
    """A validation in the records, as far as it matters here."""

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


def wanted(kind: Kind, key: str, of: Recorded | None, now: datetime, keep: timedelta) -> bool:
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
