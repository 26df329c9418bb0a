"""System calls of a sandbox that wait for its warden: hearing of them and answering them."""

from __future__ import annotations

import asyncio
import os
import select
from typing import TYPE_CHECKING

from assay_sandboxes.guest import waiting_calls

if TYPE_CHECKING:
    from collections.abc import Callable

    from assay_sandboxes.guest.waiting_calls import WaitingCall


class SeccompNotifications:
    """Hands every waiting call to `hear`, which lets it go on or ends it, now or later."""

    def __init__(self, listener: int, hear: Callable[[WaitingCall], None]) -> None:
        """Listen at a listener's descriptor."""
        self._listener = listener
        self._hear = hear
        self._poll = select.poll()
        self._poll.register(listener, select.POLLIN)
        asyncio.get_running_loop().add_reader(listener, self._receive)

    def still_waits(self, call: WaitingCall) -> bool:
        """Whether it still waits: what was read of its caller before is certain to be its own."""
        return waiting_calls.still_waits(self._listener, call)

    def let_go_on(self, call: WaitingCall) -> None:
        """Let the kernel carry it out, with what the caller's memory holds by then."""
        waiting_calls.let_go_on(self._listener, call)

    def end_with(self, call: WaitingCall, error: int) -> None:
        """End it with this error number, or 0 for success; the kernel does nothing more."""
        waiting_calls.end_with(self._listener, call, error)

    def _receive(self) -> None:
        if any(events & select.POLLHUP for _, events in self._poll.poll(0)):
            asyncio.get_running_loop().remove_reader(self._listener)
            os.close(self._listener)
            return
        call = waiting_calls.receive(self._listener)
        if call is not None:
            self._hear(call)
