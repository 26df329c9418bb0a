"""What the commands of a remote sandbox tried to reach, as it is written down inside."""

import asyncio
from collections.abc import Mapping
from typing import Final

from assay_sandboxes.port import ObservedCall, SandboxUnavailable
from assay_sandboxes.remote.call_log import AskedCommand, calls_of, parse_log, parse_strace
from assay_sandboxes.remote.guest_client import GuestClient
from assay_sandboxes.remote.guest_requests import WatchMethod

METHODS: Final[Mapping[WatchMethod, str]] = {
    "seccomp": "a system call filter inside the sandbox that reports every call that names a "
    "destination, and questions to name servers, before the kernel acts on it",
    "strace": "strace inside the sandbox, which the sandbox's user could have tampered with",
}
"""How calls can be observed, the best first."""


class CallRecord:
    """The commands that are watched, and the calls they made."""

    def __init__(self, guest: GuestClient) -> None:
        self._guest = guest
        self._commands: dict[int, AskedCommand] = {}
        self._before: list[ObservedCall] = []
        self._ending: set[asyncio.Task[None]] = set()
        self.method: WatchMethod | None = None
        """None where nothing is watched."""

    def add(self, number: int, command: AskedCommand) -> None:
        self._commands[number] = command

    def kill(self, number: int) -> None:
        """End a command in the background; one that never began made no calls."""

        async def kill() -> None:
            answer = await self._guest.kill(number)
            if not answer.begun:
                self._commands.pop(number, None)

        task = asyncio.create_task(kill())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
        task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())

    def forget(self) -> None:
        """Start over: what was watched so far was our own doing."""
        self._commands.clear()

    async def put_aside(self) -> None:
        """Read all there is, before what is written down inside is cleared away."""
        self._before = await self.all_calls()
        self._commands.clear()

    def end(self) -> None:
        for task in self._ending:
            task.cancel()

    async def all_calls(self) -> list[ObservedCall]:
        """Every call since the sandbox was opened; none where nothing is watched.

        Raises:
            SandboxUnavailable: some may be missing.
        """
        return [*self._before, *await self.calls_inside(self.method)] if self.method else []

    async def calls_inside(self, method: WatchMethod) -> list[ObservedCall]:
        """Calls written down inside since the last clearing away.

        Raises:
            SandboxUnavailable: some may be missing.
        """
        if self._ending:
            await asyncio.wait(self._ending)
        answer = await self._guest.calls(method)
        parse = parse_log if method == "seccomp" else parse_strace
        written = dict(answer.calls)
        missing = self._commands.keys() - written.keys()
        if missing:
            raise SandboxUnavailable(
                f"network calls were not measured: nothing is written down of {len(missing)} of "
                f"{len(self._commands)} commands"
            )
        calls = [
            call
            for number, command in self._commands.items()
            for call in calls_of(parse(written[number]), command, self._guest.facts.host)
        ]
        return sorted(calls, key=lambda call: call.at)
