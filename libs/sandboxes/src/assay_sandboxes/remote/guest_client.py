"""Speaking with our programs inside a remote sandbox."""

import base64
import json
import secrets
import shlex
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, TypeVar

from pydantic import ValidationError

from assay_sandboxes.guest import survey
from assay_sandboxes.guest.fast_files import TEMPORARY
from assay_sandboxes.port import SKILLS, SandboxUnavailable
from assay_sandboxes.remote import guest_programs
from assay_sandboxes.remote.guest_answers import (
    CallsAnswer,
    CommandAnswer,
    GetAnswer,
    GuestAnswer,
    KillAnswer,
    PutAnswer,
    SurveyAnswer,
)
from assay_sandboxes.remote.guest_requests import (
    CallsRequest,
    CommandRequest,
    DropRequest,
    GetRequest,
    KillRequest,
    PrepareRequest,
    PutRequest,
    WatchMethod,
)
from assay_sandboxes.remote.retries import Retries
from assay_sandboxes.remote.service import RemoteMachine, RemoteMissing

T = TypeVar("T")
A = TypeVar("A", bound=GuestAnswer)

_AGENT: Final = 1000
"""User and group of commands, where our programs are root."""
_ANSWER: Final = "assay:"
_INLINE_CHARS: Final = 60_000
"""A longer argument does not fit into a command line everywhere."""
_MARGIN_S: Final = 45
"""What the way there and back, and a late end, may take besides."""
_TRANSFER_S: Final = 60.0
_ROOT: Final = "/opt/assay"
_UNPACK: Final = (
    "import os, sys, tarfile\n"
    "if os.path.exists(sys.argv[1]):\n"
    "    with tarfile.open(sys.argv[1]) as archive:\n"
    "        ours = [each for each in archive if each.name.startswith('programs/')]\n"
    "        archive.extractall(sys.argv[2], ours)\n"
    "os.execv(sys.executable, [sys.executable, '-I', '-S', *sys.argv[3:]])\n"
)


@dataclass(frozen=True, slots=True)
class GuestFacts:
    """What a sandbox is like."""

    uid: int
    gid: int
    """Whom commands run as."""
    is_root: bool
    """Whether our programs have more rights than commands."""
    python: str
    shell: str
    path: str
    host: str
    """Its own name."""
    skills: Mapping[str, str]
    """Which it has already, with their digests."""


class GuestClient:
    """Asks, again where no answer came, and never has anything done twice."""

    def __init__(self, machine: RemoteMachine, retries: Retries) -> None:
        self._machine = machine
        self._retries = retries
        self._prefix = ""
        self.facts: GuestFacts
        """What the sandbox is like; known from the survey on."""

    async def survey(self) -> GuestFacts:
        """What the sandbox is like.

        Raises:
            SandboxUnavailable: it has no Python to answer with.
        """
        command = f"python3 -I -S -c {shlex.quote(_survey_program())} {SKILLS}"
        found = await self._answer(f"bash -c {shlex.quote(command)}", 0, SurveyAnswer)
        root = found.uid == 0
        self._prefix = "sudo -n " if found.sudo else ""
        self.facts = GuestFacts(
            uid=_AGENT if root else found.uid,
            gid=_AGENT if root else found.gid,
            is_root=root or found.sudo,
            python=found.python,
            shell=found.shell,
            path=found.path,
            host=found.host,
            skills=found.skills,
        )
        return self.facts

    async def prepare(self, archive: bytes, skills: dict[str, str]) -> None:
        """Put our programs and skills there and lay everything out."""
        path = await self.send(archive)
        request: PrepareRequest = {
            "archive": path,
            "skills": skills,
            "token": secrets.token_hex(8),
            "uid": self.facts.uid,
            "gid": self.facts.gid,
        }
        unpack = f"python3 -I -S -c {shlex.quote(_UNPACK)} {path} {_ROOT}"
        await self._answer(
            f"{self._prefix}mkdir -p {_ROOT} && "
            f"{self._prefix}{unpack} {guest_programs.WORKSPACE} prepare {_encoded(request)}",
            0,
            GuestAnswer,
        )

    async def run(self, request: CommandRequest) -> CommandAnswer:
        return await self._ask("run", request, CommandAnswer, seconds=request["seconds"])

    async def kill(self, number: int) -> KillAnswer:
        request: KillRequest = {"number": number}
        return await self._ask("kill", request, KillAnswer)

    async def put(self, request: PutRequest) -> PutAnswer:
        return await self._ask("put", request, PutAnswer, seconds=_TRANSFER_S)

    async def get(self, request: GetRequest) -> GetAnswer:
        return await self._ask("get", request, GetAnswer, seconds=_TRANSFER_S)

    async def calls(self, watch: WatchMethod) -> CallsAnswer:
        request: CallsRequest = {"watch": watch}
        return await self._ask("calls", request, CallsAnswer, seconds=_TRANSFER_S)

    async def quiesce(self) -> None:
        """End all that commands left running, and clear the workspace away."""
        await self._ask(
            "quiesce", {}, GuestAnswer, program=guest_programs.WORKSPACE, seconds=_TRANSFER_S
        )

    async def send(self, content: bytes) -> str:
        """Put a file where only its reader knows of it; return its path."""
        path = unguessable_path()
        seconds = self._retries.policy.request_patience
        await self._patiently(
            lambda: self._machine.upload(path, content, seconds=int(seconds)), seconds
        )
        return path

    async def fetch(self, path: str) -> bytes:
        """Get a file that the program inside has put there, and have it removed."""
        seconds = self._retries.policy.request_patience
        content = await self._patiently(
            lambda: self._machine.download(path, seconds=int(seconds)), seconds
        )
        await self._drop(path)
        return content

    async def _drop(self, path: str) -> None:
        request: DropRequest = {"frame": path}
        await self._ask("drop", request, GuestAnswer)

    async def _ask(
        self,
        operation: str,
        request: Mapping[str, object],
        answer: type[A],
        *,
        program: str = guest_programs.COMMANDS,
        seconds: float = 0,
    ) -> A:
        """Have something done, which may take so long."""
        argument = _encoded(request)
        command = f"{self._prefix}python3 -I -S {program} {operation}"
        if len(argument) <= _INLINE_CHARS:
            return await self._answer(f"{command} {argument}", seconds, answer)
        path = await self.send(json.dumps(request).encode())
        answered = await self._answer(f"{command} @{path}", seconds, answer)
        await self._drop(path)
        return answered

    async def _answer(self, command: str, seconds: float, answer: type[A]) -> A:
        longest = int(seconds) + _MARGIN_S
        said = await self._patiently(
            lambda: self._machine.run(f"{command} </dev/null 2>&1", seconds=longest),
            longest + 10,
        )
        line = next((line for line in said.splitlines() if line.startswith(_ANSWER)), None)
        if line is None:
            raise SandboxUnavailable(
                "the sandbox does not answer as it should; its snapshot needs Python 3.9 or "
                "newer, and either sudo without a password or /workspace, /home/agent and "
                f"/opt/assay open to its user: {said.strip()[-500:] or 'no output'}"
            )
        content = line.removeprefix(_ANSWER)
        failed = json.loads(content).get("failed")
        if failed is not None:
            raise SandboxUnavailable(f"the sandbox failed: {failed}")
        try:
            return answer.model_validate_json(content)
        except ValidationError as error:
            raise SandboxUnavailable(f"the sandbox answers nonsense: {error}") from error

    async def _patiently(self, ask: Callable[[], Awaitable[T]], seconds: float) -> T:
        try:
            return await self._retries.ask("reach the sandbox", ask, seconds=seconds)
        except RemoteMissing as error:
            raise SandboxUnavailable(f"the sandbox is gone from {self._retries.service}") from error


@cache
def _survey_program() -> str:
    return Path(survey.__file__).read_text() + "main()\n"


def unguessable_path() -> str:
    """Of a file that only its reader knows of."""
    return f"{TEMPORARY}/assay-{secrets.token_hex(8)}"


def _encoded(request: Mapping[str, object]) -> str:
    return base64.b64encode(json.dumps(request).encode()).decode()
