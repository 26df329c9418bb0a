"""Asking the program inside a sandbox at Daytona."""

import base64
import json
import secrets
import shlex
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from daytona import AsyncSandbox, DaytonaNotFoundError

from assay_sandboxes.guest import survey
from assay_sandboxes.port import SKILLS, SandboxUnavailable
from assay_sandboxes.remote.guest_programs import CELL
from assay_sandboxes.remote.retries import Pace, patiently

T = TypeVar("T")

ROOT: Final = "/opt/assay"
_ANSWER: Final = "assay:"
_INLINE_CHARS: Final = 60_000
"""A longer argument does not fit into a command line everywhere."""
_MARGIN_S: Final = 45
"""What the way there and back, and a late end, may take besides."""
_UNPACK: Final = (
    "import os, sys, tarfile\n"
    "if os.path.exists(sys.argv[1]):\n"
    "    with tarfile.open(sys.argv[1]) as archive:\n"
    "        ours = [each for each in archive if each.name.startswith('programs/')]\n"
    "        archive.extractall(sys.argv[2], ours)\n"
    "os.execv(sys.executable, [sys.executable, '-I', '-S', *sys.argv[3:]])\n"
)


@dataclass(frozen=True, slots=True)
class Place:
    """What a sandbox is like."""

    uid: int
    gid: int
    """Whom commands run as."""
    sudo: bool
    """Whether our program becomes root by `sudo`."""
    is_root: bool
    """Whether our program has more rights than commands."""
    python: str
    shell: str
    path: str
    host: str
    """Its own name."""
    skills: Mapping[str, str]
    """Which it has already, with their digests."""


class Questions:
    """Asks, again where no answer came, and never has anything done twice."""

    def __init__(self, sandbox: AsyncSandbox, pace: Pace) -> None:
        self.sandbox = sandbox
        self._pace = pace
        self._prefix = ""

    async def survey(self) -> Place:
        """What the sandbox is like.

        Raises:
            SandboxUnavailable: it has no Python to answer with.
        """
        with open(survey.__file__) as source:  # noqa: PTH123, ASYNC230 - a page of text
            program = source.read() + "main()\n"
        command = f"python3 -I -S -c {shlex.quote(program)} {SKILLS}"
        found = await self._answer(f"bash -c {shlex.quote(command)}", 0)
        root = found["uid"] == 0
        self._prefix = "sudo -n " if found["sudo"] else ""
        return Place(
            uid=1000 if root else found["uid"],
            gid=1000 if root else found["gid"],
            sudo=found["sudo"],
            is_root=root or found["sudo"],
            python=found["python"],
            shell=found["shell"],
            path=found["path"],
            host=found["host"],
            skills=found["skills"],
        )

    async def prepare(self, archive: bytes, request: Mapping[str, object]) -> None:
        """Put our programs and skills there and lay everything out."""
        token = secrets.token_hex(8)
        path = await self.send(archive)
        encoded = _encoded({**request, "archive": path, "token": token})
        program = f"python3 -I -S -c {shlex.quote(_UNPACK)} {path} {ROOT}"
        await self._answer(
            f"{self._prefix}mkdir -p {ROOT} && "
            f"{self._prefix}{program} {ROOT}/programs/{CELL} prepare {encoded}",
            0,
        )

    async def ask(
        self, operation: str, request: Mapping[str, object], *, seconds: float = 0
    ) -> dict[str, Any]:
        """Have something done, which may take so long."""
        argument = _encoded(request)
        program = f"{self._prefix}python3 -I -S {ROOT}/programs/{CELL} {operation}"
        if len(argument) <= _INLINE_CHARS:
            return await self._answer(f"{program} {argument}", seconds)
        path = await self.send(json.dumps(request).encode())
        answer = await self._answer(f"{program} @{path}", seconds)
        await self.drop(path)
        return answer

    async def send(self, content: bytes) -> str:
        """Put a file where only its reader knows of it; return its path."""
        path = f"/tmp/assay-{secrets.token_hex(8)}"  # noqa: S108 - nobody can guess it
        seconds = self._pace.request_patience
        await self._patiently(
            lambda: self.sandbox.fs.upload_file(content, path, timeout=int(seconds)), seconds
        )
        return path

    async def fetch(self, path: str) -> bytes:
        """Get a file that the program inside has put there, and have it removed."""
        seconds = self._pace.request_patience
        content = await self._patiently(
            lambda: self.sandbox.fs.download_file(path, int(seconds)), seconds
        )
        await self.drop(path)
        return content

    async def drop(self, path: str) -> None:
        await self.ask("drop", {"frame": path})

    async def _answer(self, command: str, seconds: float) -> dict[str, Any]:
        longest = int(seconds) + _MARGIN_S
        response = await self._patiently(
            lambda: self.sandbox.process.exec(
                f"{command} </dev/null 2>&1", cwd="/", timeout=longest
            ),
            longest + 10,
        )
        said: str = response.result
        for line in said.splitlines():
            if line.startswith(_ANSWER):
                answer: dict[str, Any] = json.loads(line.removeprefix(_ANSWER))
                if "failed" in answer:
                    raise SandboxUnavailable(f"the sandbox failed: {answer['failed']}")
                return answer
        raise SandboxUnavailable(
            "the sandbox does not answer as it should; its snapshot needs Python 3.9 or newer, "
            "and either sudo without a password or /workspace, /home/agent and /opt/assay open to "
            f"its user: {said.strip()[-500:] or 'no output'}"
        )

    async def _patiently(self, ask: Callable[[], Awaitable[T]], seconds: float) -> T:
        try:
            return await patiently("reach the sandbox", ask, self._pace, seconds=seconds)
        except DaytonaNotFoundError as error:
            raise SandboxUnavailable("the sandbox is gone from Daytona") from error


def _encoded(request: Mapping[str, object]) -> str:
    return base64.b64encode(json.dumps(request).encode()).decode()
