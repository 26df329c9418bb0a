"""Lists that stay within a message, whatever a skill puts into them."""

import json
from collections.abc import Iterable, Iterator


def first_within(items: Iterable[str], limit: int) -> Iterator[str]:
    """The first of `items`, as many as come to no more than `limit` bytes of JSON together."""
    left = limit
    for item in items:
        left -= len(json.dumps(item, ensure_ascii=False).encode("utf-8", "replace"))
        if left < 0:
            return
        yield item
