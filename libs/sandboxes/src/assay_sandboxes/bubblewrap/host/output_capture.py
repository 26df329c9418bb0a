"""Capturing what a program in a sandbox writes."""

import asyncio
import fcntl
import os
from contextlib import suppress
from typing import Final

from assay_sandboxes.guest.head_and_tail import HeadAndTail

_PIPE_BYTES: Final = 256 * 1024
_PAUSE_S: Final = 0.002
_LAST_LOOK_BYTES: Final = 1024 * 1024


class OutputCapture:
    """Reads a pipe and keeps the head and the tail of what comes through it."""

    def __init__(self, limit: int) -> None:
        """Make the pipe; `limit` is in bytes."""
        self._loop = asyncio.get_running_loop()
        self._kept = HeadAndTail(limit)
        self._source, self.sink = os.pipe()
        os.set_blocking(self._source, False)
        with suppress(OSError):
            fcntl.fcntl(self._source, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self.open = True
        self._resume: asyncio.TimerHandle | None = None
        self._loop.add_reader(self._source, self._read)

    def handed_over(self) -> None:
        """Close the writing end here, so that the pipe ends with its last writer inside."""
        os.close(self.sink)
        self.sink = -1

    def take(self) -> tuple[bytes, bool]:
        """What was written so far, and whether some of it was left out.

        The pipe is read on, to no effect, until the last writer closes it: a process that a
        command left running must not fail for want of a reader.
        """
        before = self._kept.total
        while self.open and self._kept.total - before < _LAST_LOOK_BYTES and self._read_once():
            pass
        return self._kept.joined()

    def close(self) -> None:
        if self.sink >= 0:
            self.handed_over()
        if self.open:
            self.open = False
            if self._resume is not None:
                self._resume.cancel()
            self._loop.remove_reader(self._source)
            os.close(self._source)

    def _read(self) -> None:
        self._resume = None
        self._read_once()
        if self.open and self._kept.is_flooded:
            # A flood has no claim on the event loop.
            self._loop.remove_reader(self._source)
            self._resume = self._loop.call_later(_PAUSE_S, self._watch)

    def _watch(self) -> None:
        self._loop.add_reader(self._source, self._read)

    def _read_once(self) -> bool:
        try:
            chunk = os.read(self._source, _PIPE_BYTES)
        except BlockingIOError:
            return False
        if not chunk:
            self.close()
            return False
        self._kept.add(chunk)
        return True
