"""Whether a client that has something already has this very thing."""

from collections.abc import Sequence
from hashlib import sha256


def etag_of(content: bytes) -> str:
    """A strong entity tag."""
    return f'"{sha256(content).hexdigest()[:32]}"'


def is_known(etag: str, if_none_match: Sequence[str]) -> bool:
    """Whether `If-None-Match`, in however many headers, names `etag` or anything at all."""
    named = {each.strip().removeprefix("W/") for line in if_none_match for each in line.split(",")}
    return etag in named or "*" in named
