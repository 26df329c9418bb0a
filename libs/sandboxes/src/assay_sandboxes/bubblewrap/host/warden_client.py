"""The runner's end of the socket to the warden of a sandbox."""

import asyncio
import itertools
import json
import os
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final, NamedTuple

from assay_sandboxes.bubblewrap.warden.call_ledger import SeenCall
from assay_sandboxes.bubblewrap.warden.orders import Begun, WatchOrder
from assay_sandboxes.bubblewrap.warden.program import MOST_ANSWER_BYTES
from assay_sandboxes.logical_calls import LogicalCalls
from assay_sandboxes.port import (
    COMMAND_CHARS,
    ObservedCall,
    RunningProgram,
    SandboxUnavailable,
)

_ANSWER_S: Final = 15.0
_AT_ONCE: Final = 100
"""So many calls are read before others have their turn."""


class _Command(NamedTuple):
    text: str
    cwd: str
    started: float


class WardenClient:
    """Hands a sandbox's network to its warden, and asks what it has seen."""

    def __init__(self, control: socket.socket, *, lost: Callable[[str], None]) -> None:
        """Speak over a socket, which is closed by `close`; `lost` is told why nobody answers."""
        self._socket = control
        self._socket.setblocking(False)
        self._loop = asyncio.get_running_loop()
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[bytes]] = {}
        self._commands: dict[int, _Command] = {}
        self._tell_lost = lost
        self._lost = False
        self.ended_for_memory = 0
        """How many processes the warden has ended because all together held too much."""
        self._loop.add_reader(self._socket, self._hear)

    def hand_over(self, order: WatchOrder, descriptors: Sequence[int]) -> None:
        """Give it the network; what is handed over is closed here."""
        try:
            socket.send_fds(self._socket, [json.dumps(order).encode()], list(descriptors))
        except OSError as error:
            self._lose()
            raise SandboxUnavailable(f"the sandbox's warden does not listen: {error}") from error
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def command_started(self, number: int, command: str, cwd: str) -> None:
        self._commands[number] = _Command(
            command[:COMMAND_CHARS], cwd, datetime.now(UTC).timestamp()
        )

    def settle(self) -> None:
        """Have it note what a command that has ended did; nobody waits for that."""
        self._tell("settle")

    def let_end(self) -> None:
        """Say that a command is about to be ended, which is not to wait for its turn."""
        self._tell("ending")

    def _tell(self, operation: str) -> None:
        with suppress(OSError):  # it is not needed for what is right, only for when
            self._socket.send(json.dumps({"op": operation, "id": 0}).encode())

    async def begin(self) -> Begun:
        """Say that the probe is over; what was seen of it."""
        begun: Begun = json.loads(await self._ask("begin"))
        return begun

    async def calls(self) -> list[ObservedCall]:
        """Every call attempted so far, oldest first.

        Raises:
            SandboxUnavailable: the warden has ended or does not answer, so nobody knows.
        """
        calls = LogicalCalls()
        lines = (await self._ask("calls")).splitlines()
        for position, line in enumerate(lines):
            if position % _AT_ONCE == _AT_ONCE - 1:
                await asyncio.sleep(0)
            calls.add(self._observed(json.loads(line)))
        return calls.listed()

    def close(self) -> None:
        self._lost = True
        with suppress(ValueError, OSError):
            self._loop.remove_reader(self._socket)
        self._socket.close()
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(SandboxUnavailable("the sandbox is closed"))
                answer.exception()
        self._answers.clear()

    async def _ask(self, operation: str) -> bytes:
        if self._lost:
            raise SandboxUnavailable("network calls were not measured: the sandbox's warden ended")
        number = next(self._numbers)
        answer: asyncio.Future[bytes] = self._loop.create_future()
        self._answers[number] = answer
        try:
            self._socket.send(json.dumps({"op": operation, "id": number}).encode())
            async with asyncio.timeout(_ANSWER_S):
                return await answer
        except (OSError, TimeoutError) as error:
            raise SandboxUnavailable(
                "network calls were not measured: the sandbox's warden did not answer within "
                f"{_ANSWER_S:g} seconds; what the sandbox does keeps it busy"
            ) from error
        finally:
            self._answers.pop(number, None)

    def _hear(self) -> None:
        try:
            message, descriptors, _, _ = socket.recv_fds(self._socket, 64, 1)
        except BlockingIOError:
            return
        except OSError:
            message, descriptors = b"", []
        if not message:
            self._lose()
            return
        if not descriptors:
            self.ended_for_memory += 1
            return
        with os.fdopen(descriptors[0], "rb") as file:
            file.seek(0)
            content = file.read(MOST_ANSWER_BYTES + 1)
        answer = self._answers.get(int(message))
        if answer is not None and not answer.done():
            answer.set_result(content)

    def _lose(self) -> None:
        if not self._lost:
            self._tell_lost(
                "the sandbox's warden ended: what the sandbox did to its network took more than "
                "a warden may use, or it was ended from outside"
            )
        self.close()

    def _observed(self, call: SeenCall) -> ObservedCall:
        command = self._commands.get(call["command"] or 0)
        cwd = command.cwd if command else None
        return ObservedCall(
            at=datetime.fromtimestamp(call["at"], UTC),
            destination=call["destination"],
            command=(command or self._likeliest(call["at"])).text,
            cwd=cwd,
            process=call["process"],
            programs=tuple(RunningProgram(*program) for program in call["programs"]),
            attempts=call["attempts"],
            problem=call["problem"],
            refused=call["refused"],
        )

    def _likeliest(self, at: float) -> _Command:
        """The command that was started last before a call that nobody knows the maker of."""
        before = [each for each in self._commands.values() if each.started <= at]
        return before[-1] if before else _Command("", "", 0)
