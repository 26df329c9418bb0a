"""Sandboxes in memory, for tests of what uses them.

A fake sandbox understands a few words of shell: `true`, `false`, `exit N`, `echo WORDS`,
`cat FILE`, `mkdir`, `pwd`, `sleep SECONDS`, joined by `;` or `&&`, with `> FILE` and `>&2`; `find`,
which prints size, checksum and path of each file in the folder, ended by zeros; and words of its
own: `repeat N TEXT`, `install NAME VERSION`, `call DESTINATION`, and `vanish`, which loses the
sandbox. A provider may be given replies for whole commands besides.
"""

import asyncio
import posixpath
import re
import secrets
import shlex
import time
import zlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, Literal

from assay_contracts.runs import NetworkMode, Package, SandboxProof
from assay_sandbox_runner.ports import (
    SKILLS,
    TIMED_OUT,
    WORKSPACE,
    ExecResult,
    FileError,
    FileProblem,
    Limits,
    NotOffline,
    ObservedCall,
    Sandbox,
    SandboxUnavailable,
)

HOME: Final = "/home/agent"
_NOT_FOUND: Final = 127


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a whole command does in a fake sandbox."""

    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Files it writes, by absolute path."""
    calls: Sequence[str] = ()
    """Destinations it tries to reach."""
    installs: Sequence[Package] = ()


@dataclass(slots=True)
class _Environment:
    """What a snapshot keeps."""

    files: dict[str, bytes] = field(default_factory=dict)
    packages: set[Package] = field(default_factory=set)
    kept_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    def copy(self) -> "_Environment":
        return _Environment(dict(self.files), set(self.packages))


@dataclass(slots=True)
class _Streams:
    out: str = ""
    err: str = ""


@dataclass(frozen=True, slots=True)
class _Turn:
    """One word with what follows it, while it is being done."""

    rest: list[str]
    command: str
    """The whole command that the word stands in."""
    cwd: str
    said: _Streams

    def path(self, name: str) -> str:
        return posixpath.join(self.cwd, name)


class _Exit(Exception):
    def __init__(self, code: int) -> None:
        self.code = code


class FakeSandbox:
    """One sandbox in memory."""

    def __init__(
        self,
        provider: "FakeProvider",
        identity: str,
        *,
        skills: Path,
        network: NetworkMode,
        base: str | None,
        limits: Limits,
    ) -> None:
        self._id = identity
        self._skills = skills
        self._network: NetworkMode = network
        self._base = base
        self._provider = provider
        self._limits = limits
        self._environment = provider.environment(base)
        self._workspace: dict[str, bytes] = {}
        self._calls: list[ObservedCall] = []
        self._lost: str | None = None
        self.commands: list[str] = []
        """Every command asked for, in order."""

    @property
    def id(self) -> str:
        return self._id

    @property
    def is_open(self) -> bool:
        return self._lost is None

    def lose(self, why: str) -> None:
        """End the sandbox; whatever is asked of it afterwards fails with `why`."""
        self._lost = self._lost or why

    async def execute(
        self, command: str, *, timeout_s: float | None = None, cwd: str = WORKSPACE
    ) -> ExecResult:
        self._check()
        self.commands.append(command)
        longest = self._limits.command_seconds
        streams, started, timed_out = _Streams(), time.monotonic(), False
        try:
            async with asyncio.timeout(longest if timeout_s is None else min(timeout_s, longest)):
                code = await self._run(command, cwd, streams)
        except TimeoutError:
            code, timed_out = TIMED_OUT, True
        self._check()
        stdout, cut_out = _cut(streams.out, self._limits.output_bytes)
        stderr, cut_err = _cut(streams.err, self._limits.output_bytes)
        return ExecResult(
            stdout=stdout,
            stderr=stderr,
            exit_code=code,
            timed_out=timed_out,
            truncated=cut_out or cut_err,
            seconds=time.monotonic() - started,
        )

    async def upload(self, files: Sequence[tuple[str, bytes]]) -> list[FileError | None]:
        self._check()
        problems = [(path, self._write(path, content)) for path, content in files]
        return [FileError(path, problem) if problem else None for path, problem in problems]

    async def download(self, paths: Sequence[str]) -> list[bytes | FileError]:
        self._check()
        found = ((path, self._read(path)) for path in paths)
        return [
            content if isinstance(content, bytes) else FileError(path, content)
            for path, content in found
        ]

    async def packages(self) -> tuple[Package, ...]:
        self._check()
        everything = self._environment.packages
        return tuple(sorted(everything, key=lambda p: (p.ecosystem, p.name.lower(), p.version)))

    async def network_calls(self) -> list[ObservedCall]:
        return list(self._calls) if self._network == "blocked" else []

    async def snapshot(self, name: str) -> None:
        self._check()
        self._provider.snapshots[name] = self._environment.copy()

    def proof(self) -> SandboxProof:
        return SandboxProof(
            kind="fake",
            base=self._base or "base",
            network=self._network,
            proof="It is a fake: it has no network, and pretends to have one where open.",
            observation="Calls are those that its commands pretend to make.",
        )

    def _check(self) -> None:
        if self._lost is not None:
            raise SandboxUnavailable(self._lost)

    async def _run(self, command: str, cwd: str, streams: _Streams) -> int:
        if command in self._provider.replies:
            return self._reply(command, streams)
        code = 0
        for joint, part in _parts(command):
            if joint == "&&" and code != 0:
                continue
            try:
                code = await self._word(shlex.split(part), command, cwd, streams)
            except _Exit as leave:
                return leave.code
        return code

    def _reply(self, command: str, streams: _Streams) -> int:
        reply = self._provider.replies[command]
        streams.out += reply.stdout
        streams.err += reply.stderr
        for path, content in reply.files.items():
            self._write(path, content)
        for destination in reply.calls:
            self._call(destination, command)
        self._environment.packages.update(reply.installs)
        return reply.exit_code

    async def _word(self, words: list[str], command: str, cwd: str, streams: _Streams) -> int:
        to_file: str | None = None
        if len(words) > 1 and words[-2] == ">":
            words, to_file = words[:-2], posixpath.join(cwd, words[-1])
        to_errors = words[-1:] == [">&2"]
        name, *rest = words[: len(words) - to_errors] or ["true"]
        turn = _Turn(rest, command, cwd, _Streams())
        if name == "sleep":
            await asyncio.sleep(float(turn.rest[0]))
        code = _WORDS.get(name, _unknown_word)(self, turn)
        said = turn.said
        if to_file is not None:
            problem = self._write(to_file, said.out.encode())
            said = _Streams(err=f"{to_file}: {problem}\n" if problem else "")
            code = 1 if problem else code
        elif to_errors:
            said = _Streams(err=said.out + said.err)
        streams.out += said.out
        streams.err += said.err
        return code

    def say_files(self, turn: _Turn) -> int:
        folder = turn.cwd.rstrip("/") + "/"
        for path, content in {**self._workspace, **self._environment.files}.items():
            if path.startswith(folder):
                name = path.removeprefix(folder)
                turn.said.out += f"{len(content)} {zlib.crc32(content)} {name}\0"
        return 0

    def say_file(self, turn: _Turn) -> int:
        path = turn.path(turn.rest[0])
        content = self._read(path)
        if isinstance(content, bytes):
            turn.said.out = content.decode(errors="replace")
            return 0
        turn.said.err = f"cat: {path}: {content}\n"
        return 1

    def install(self, turn: _Turn) -> int:
        name, version = turn.rest
        self._environment.packages.add(Package(ecosystem="pip", name=name, version=version))
        return 0

    def call(self, turn: _Turn) -> int:
        self._call(turn.rest[0], turn.command)
        return 0 if self._network == "open" else 1

    def vanish(self, _: _Turn) -> int:
        self.lose("the sandbox ended by itself")
        return 0

    def _call(self, destination: str, command: str) -> None:
        self._calls.append(ObservedCall(datetime.now(UTC), destination, command[:200]))

    def _files(self, path: str) -> dict[str, bytes]:
        return self._environment.files if path.startswith(HOME + "/") else self._workspace

    def _write(self, path: str, content: bytes) -> FileProblem | None:
        if not path.startswith("/") or "\0" in path:
            return "invalid_path"
        path = posixpath.normpath(path)
        if not path.startswith((WORKSPACE + "/", HOME + "/", "/tmp/")):  # noqa: S108
            return "permission_denied"
        if path == SKILLS or path.startswith(SKILLS + "/"):
            return "permission_denied"
        if len(content) > self._limits.file_bytes:
            return "too_large"
        if self._is_folder(path):
            return "is_directory"
        self._files(path)[path] = content
        return None

    def _read(self, path: str) -> bytes | FileProblem:
        if not path.startswith("/") or "\0" in path:
            return "invalid_path"
        path = posixpath.normpath(path)
        if path == SKILLS or path.startswith(SKILLS + "/"):
            return _read_real(self._skills / path[len(SKILLS) :].lstrip("/"))
        if self._is_folder(path):
            return "is_directory"
        return self._files(path).get(path, "file_not_found")

    def _is_folder(self, path: str) -> bool:
        files = [*self._workspace, *self._environment.files, f"{SKILLS}/.", f"{HOME}/."]
        return any(file.startswith(path.rstrip("/") + "/") for file in files)


class FakeProvider:
    """Gives fake sandboxes and remembers them."""

    def __init__(
        self,
        *,
        replies: Mapping[str, Reply] | None = None,
        unavailable: str | None = None,
        leaks: bool = False,
        snapshot_ttl: timedelta = timedelta(days=1),
    ) -> None:
        """Set up what is to happen.

        Args:
            replies: what whole commands do.
            unavailable: no sandbox can be had, for this reason.
            leaks: a blocked network turns out not to be.
            snapshot_ttl: how long a snapshot lives at most.
        """
        self.replies = replies or {}
        self.sandboxes: list[FakeSandbox] = []
        """Every sandbox ever opened."""
        self.snapshots: dict[str, _Environment] = {}
        self._unavailable = unavailable
        self._leaks = leaks
        self._snapshot_ttl = snapshot_ttl

    @property
    def kind(self) -> Literal["fake"]:
        return "fake"

    def open(
        self,
        *,
        name: str,
        skills: Path,
        network: NetworkMode,
        base: str | None = None,
        limits: Limits | None = None,
    ) -> AbstractAsyncContextManager[Sandbox]:
        return self._open(name, skills, network, base, limits or Limits())

    @asynccontextmanager
    async def _open(
        self, name: str, skills: Path, network: NetworkMode, base: str | None, limits: Limits
    ) -> AsyncIterator[Sandbox]:
        if self._unavailable is not None:
            raise SandboxUnavailable(self._unavailable)
        if self._leaks and network == "blocked":
            raise NotOffline("a probe from inside got out; the sandbox was destroyed")
        identity = f"{name}-{secrets.token_hex(4)}"
        sandbox = FakeSandbox(
            self, identity, skills=skills, network=network, base=base, limits=limits
        )
        self.sandboxes.append(sandbox)
        try:
            yield sandbox
        finally:
            sandbox.lose("the sandbox is closed")

    def environment(self, base: str | None) -> _Environment:
        """A copy of a snapshot, or an empty environment."""
        if base is None:
            return _Environment()
        if base not in self.snapshots:
            raise SandboxUnavailable(f"there is no snapshot {base!r}")
        return self.snapshots[base].copy()

    async def delete_snapshot(self, name: str) -> None:
        self.snapshots.pop(name, None)

    async def sweep(self) -> list[str]:
        now = datetime.now(UTC)
        past = [
            name for name, kept in self.snapshots.items() if now - kept.kept_at > self._snapshot_ttl
        ]
        for name in past:
            del self.snapshots[name]
        return past


def _say(turn: _Turn, text: str) -> int:
    turn.said.out = text
    return 0


def _exit(_: FakeSandbox, turn: _Turn) -> int:
    raise _Exit(int(turn.rest[0]))


def _unknown_word(_: FakeSandbox, turn: _Turn) -> int:
    turn.said.err = f"{turn.command}: command not found\n"
    return _NOT_FOUND


_WORDS: Final[Mapping[str, Callable[[FakeSandbox, _Turn], int]]] = {
    "true": lambda _, turn: 0,  # noqa: ARG005
    "mkdir": lambda _, turn: 0,  # noqa: ARG005
    "sleep": lambda _, turn: 0,  # noqa: ARG005
    "false": lambda _, turn: 1,  # noqa: ARG005
    "exit": _exit,
    "pwd": lambda _, turn: _say(turn, turn.cwd + "\n"),
    "echo": lambda _, turn: _say(turn, " ".join(turn.rest) + "\n"),
    "repeat": lambda _, turn: _say(turn, (turn.rest[1] + "\n") * int(turn.rest[0])),
    "cat": FakeSandbox.say_file,
    "find": FakeSandbox.say_files,
    "install": FakeSandbox.install,
    "call": FakeSandbox.call,
    "vanish": FakeSandbox.vanish,
}


def _parts(command: str) -> list[tuple[str, str]]:
    pieces = re.split(r"(&&|;)", command)
    return list(zip([";", *pieces[1::2]], pieces[::2], strict=True))


def _cut(text: str, limit: int) -> tuple[str, bool]:
    omitted = len(text) - limit
    if omitted <= 0:
        return text, False
    half = limit // 2
    return f"{text[:half]}\n... [{omitted} bytes omitted] ...\n{text[-half:]}", True


def _read_real(path: Path) -> bytes | FileProblem:
    if path.is_dir():
        return "is_directory"
    return path.read_bytes() if path.is_file() else "file_not_found"
