"""Cutting text down to what may be kept. Pure."""

from dataclasses import dataclass
from typing import Final

_MARK_CHARS: Final = 48
"""Room for the mark, whatever number it holds."""


@dataclass(frozen=True, slots=True)
class Clipped:
    text: str
    truncated: bool


def clip(text: str, limit: int) -> Clipped:
    """At most `limit` characters: the head and the tail, with a mark of what is missing.

    A limit with no room for the mark keeps the head alone.
    """
    if len(text) <= limit:
        return Clipped(text, truncated=False)
    half = (limit - _MARK_CHARS) // 2
    if half <= 0:
        return Clipped(text[:limit], truncated=True)
    mark = f"\n[... {len(text) - 2 * half} characters left out ...]\n"
    return Clipped(text[:half] + mark + text[-half:], truncated=True)
