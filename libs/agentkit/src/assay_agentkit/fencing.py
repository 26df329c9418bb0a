"""Data for a model, between marks: what others wrote is told apart from what the model is asked."""

import json
from collections.abc import Mapping
from typing import Final

_OPENING: Final = "<<<DATA "


def fenced(payload: Mapping[str, object], *, nonce: str) -> str:
    """The payload as JSON between marks that nothing inside it can know."""
    body = json.dumps(payload, ensure_ascii=False, indent=1)
    return f"{_OPENING}{nonce}\n{body}\nDATA {nonce}>>>"


def is_fenced(text: str) -> bool:
    """Whether the text holds fenced data."""
    return _OPENING in text


def unfenced(text: str) -> dict[str, object]:
    """The payload of the first fenced part of a text.

    Raises:
        ValueError: there is none.
    """
    _, mark, rest = text.partition(_OPENING)
    nonce, _, rest = rest.partition("\n")
    body, end, _ = rest.partition(f"\nDATA {nonce}>>>")
    if not mark or not end:
        raise ValueError("the text holds no fenced data")
    payload = json.loads(body)
    if not isinstance(payload, dict):
        raise TypeError("fenced data is always an object")
    return payload
