"""Hostile names and texts, made safe to show."""

from typing import Final

MAX_SHOWN: Final = 160
_LOOKED_AT: Final = 1000
"""Characters: no more of a longer text is escaped only to be left out."""


def shown(text: str) -> str:
    """`text` with everything invisible escaped and its middle left out when it is long."""
    visible = _escaped(text[:_LOOKED_AT])
    if len(visible) <= MAX_SHOWN and len(text) <= _LOOKED_AT:
        return visible
    half = MAX_SHOWN // 2 - 2
    return f"{visible[:half]}...{_escaped(text[-half:])[-half:]}"


def _escaped(text: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
