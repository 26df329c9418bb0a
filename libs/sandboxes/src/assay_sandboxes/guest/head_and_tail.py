"""Keeping the beginning and the end of an output of any length."""

from __future__ import annotations

_ROOM = 256 * 1024
"""Bytes that the end may grow by before it is cut again."""


class HeadAndTail:
    """The first and the last bytes of a stream, and how many were left out between them."""

    def __init__(self, limit: int) -> None:
        """Keep `limit` bytes, half of them from either end."""
        self._half = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0
        """Bytes that came so far."""

    @property
    def is_flooded(self) -> bool:
        """Whether more has come than is kept."""
        return self.total > 2 * self._half

    def add(self, chunk: bytes) -> None:
        self.total += len(chunk)
        room = self._half - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[max(room, 0) :]
        if len(self._tail) > 2 * self._half + _ROOM:
            del self._tail[: -self._half]

    def joined(self) -> tuple[bytes, bool]:
        """What is kept, with a note where something is left out, and whether something is."""
        omitted = self.total - len(self._head) - min(len(self._tail), self._half)
        tail = bytes(self._tail[-self._half :]) if self._half else b""
        note = f"\n... [{omitted} bytes omitted] ...\n".encode() if omitted else b""
        return bytes(self._head) + note + tail, omitted > 0
