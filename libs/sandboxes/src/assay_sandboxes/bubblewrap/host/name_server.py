"""The only name server of a sandbox without a network."""

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress

from assay_sandboxes.bubblewrap.host.call_ledger import CallLedger
from assay_sandboxes.guest.dns_questions import first_question
from assay_sandboxes.own_names import is_own_name


class NameServer:
    """Answers every question with "no such name" and enters it in the ledger."""

    def __init__(
        self, descriptor: int, ledger: CallLedger, asking: Callable[[int], int | None]
    ) -> None:
        """Serve on a bound socket; `asking` tells the number of the command by its port."""
        self._socket = socket.socket(fileno=descriptor)
        self._socket.setblocking(False)
        self._ledger = ledger
        self._asking = asking
        asyncio.get_running_loop().add_reader(self._socket, self.serve)

    def serve(self) -> None:
        """Answer what has come in."""
        with suppress(OSError):
            for _ in range(100):
                question, asker = self._socket.recvfrom(4096)
                self._answer(question, asker)

    def _answer(self, question: bytes, asker: tuple[str, int]) -> None:
        parsed = first_question(question)
        if parsed is None:
            return
        name, kind, end = parsed
        if not is_own_name(name):
            self._ledger.lookup(name, kind, self._asking(asker[1]))
        no_such_name = question[:2] + b"\x81\x83" + question[4:6] + bytes(6) + question[12:end]
        self._socket.sendto(no_such_name, asker)

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._socket)
        self._socket.close()
