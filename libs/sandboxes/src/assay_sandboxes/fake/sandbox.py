"""One sandbox in memory, and the shell it understands."""

import asyncio
import itertools
import posixpath
import re
import shlex
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from assay_contracts.runs import NetworkMode, Package, SandboxProof
from assay_sandboxes.command_environment import HOME
from assay_sandboxes.fake import KIND
from assay_sandboxes.fake.files import FakeFiles
from assay_sandboxes.installed_packages import applying, in_order
from assay_sandboxes.logical_calls import LogicalCalls
from assay_sandboxes.port import (
    COMMAND_CHARS,
    SEALED_AT,
    TIMED_OUT,
    WORKSPACE,
    Environment,
    ExecResult,
    FileError,
    HomeFile,
    Limits,
    ObservedCall,
    RunningProgram,
    SandboxUnavailable,
)

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
class _Streams:
    out: str = ""
    err: str = ""


@dataclass(frozen=True, slots=True)
class _WordCall:
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
        identity: str,
        files: FakeFiles,
        *,
        network: NetworkMode,
        environment: Environment | None,
        limits: Limits,
        replies: Mapping[str, Reply],
    ) -> None:
        self._id = identity
        self._files = files
        self._network: NetworkMode = network
        self._environment = environment
        self._limits = limits
        self._replies = replies
        self._calls = LogicalCalls()
        self._processes = itertools.count(1)
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
        streams, started, timed_out = _Streams(), time.monotonic(), False
        try:
            async with asyncio.timeout(self._limits.seconds_for(timeout_s)):
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
            limits_hit=("time",) if timed_out else (),
        )

    async def upload(self, files: Sequence[tuple[str, bytes]]) -> list[FileError | None]:
        self._check()
        problems = [(path, self._files.write(path, content)) for path, content in files]
        return [FileError(path, problem) if problem else None for path, problem in problems]

    async def download(self, paths: Sequence[str]) -> list[bytes | FileError]:
        self._check()
        found = ((path, self._files.read(path)) for path in paths)
        return [
            content if isinstance(content, bytes) else FileError(path, content)
            for path, content in found
        ]

    async def packages(self) -> tuple[Package, ...]:
        self._check()
        return in_order(self._files.home.packages)

    async def network_calls(self) -> list[ObservedCall]:
        return self._calls.listed()

    async def home_files(self) -> tuple[HomeFile, ...]:
        self._check()
        home = self._files.home
        return tuple(
            HomeFile(
                path.removeprefix(f"{HOME}/"),
                len(content),
                SEALED_AT if path in home.sealed else int(time.time()),
                not content.startswith(b"#!"),
            )
            for path, content in sorted(home.files.items())
        )

    def proof(self) -> SandboxProof:
        return SandboxProof(
            kind=KIND,
            base=self._environment.name if self._environment else "base",
            environment=self._environment.digest if self._environment else None,
            network=self._network,
            proof="It is a fake: it has no network, and pretends to have one where open.",
            watched=True,
            observation="Calls are those that its commands pretend to make.",
        )

    def _check(self) -> None:
        if self._lost is not None:
            raise SandboxUnavailable(self._lost)

    async def _run(self, command: str, cwd: str, streams: _Streams) -> int:
        if command in self._replies:
            return self._reply(command, cwd, streams)
        code = 0
        for joint, part in _parts(command):
            if joint == "&&" and code != 0:
                continue
            try:
                code = await self._word(shlex.split(part), command, cwd, streams)
            except _Exit as leave:
                return leave.code
        return code

    def _reply(self, command: str, cwd: str, streams: _Streams) -> int:
        reply = self._replies[command]
        streams.out += reply.stdout
        streams.err += reply.stderr
        for path, content in reply.files.items():
            self._files.write(path, content)
        self._reach(reply.calls, command, command, cwd)
        self._files.home.packages.update(reply.installs)
        return reply.exit_code

    async def _word(self, words: list[str], command: str, cwd: str, streams: _Streams) -> int:
        to_file: str | None = None
        if len(words) > 1 and words[-2] == ">":
            words, to_file = words[:-2], posixpath.join(cwd, words[-1])
        to_errors = words[-1:] == [">&2"]
        if words[:2] == ["command", "-p"]:
            words = words[2:]
        name, *rest = words[: len(words) - to_errors] or ["true"]
        call = _WordCall(rest, command, cwd, _Streams())
        if name == "sleep":
            await asyncio.sleep(float(call.rest[0]))
        code = _WORDS.get(name, _unknown_word)(self, call)
        said = call.said
        if to_file is not None:
            problem = self._files.write(to_file, said.out.encode())
            said = _Streams(err=f"{to_file}: {problem}\n" if problem else "")
            code = 1 if problem else code
        elif to_errors:
            said = _Streams(err=said.out + said.err)
        streams.out += said.out
        streams.err += said.err
        return code

    def say_files(self, call: _WordCall) -> int:
        for name, content in self._files.below(call.cwd).items():
            call.said.out += f"{len(content)} {zlib.crc32(content)} {name}\0"
        return 0

    def say_file(self, call: _WordCall) -> int:
        if not call.rest:  # what stands on its input: nothing
            return 0
        path = call.path(call.rest[0])
        content = self._files.read(path)
        if isinstance(content, bytes):
            call.said.out = content.decode(errors="replace")
            return 0
        call.said.err = f"cat: {path}: {content}\n"
        return 1

    def install(self, call: _WordCall) -> int:
        """`install name version needs…`; another version of it goes."""
        name, version, *needs = call.rest
        installed = self._files.home.packages
        installed -= {package for package in installed if package.name == name}
        requires = tuple(applying(needs, {"sys_platform": "fake"}))
        installed.add(Package(ecosystem="pip", name=name, version=version, requires=requires))
        return 0

    def call(self, call: _WordCall) -> int:
        """`call place…`: one process reaches for each of the places, as often as it is named."""
        self._reach(call.rest, shlex.join(("call", *call.rest)), call.command, call.cwd)
        return 0 if self._network == "open" else 1

    def vanish(self, _: _WordCall) -> int:
        self.lose("the sandbox ended by itself")
        return 0

    def _reach(self, places: Sequence[str], program: str, command: str, cwd: str) -> None:
        process = str(next(self._processes))
        for place in places:
            self._calls.add(
                ObservedCall(
                    at=datetime.now(UTC),
                    destination=place,
                    command=command[:COMMAND_CHARS],
                    cwd=cwd,
                    process=process,
                    programs=(RunningProgram(program, cwd),),
                )
            )


def _succeed(_: FakeSandbox, __: _WordCall) -> int:
    return 0


def _fail(_: FakeSandbox, __: _WordCall) -> int:
    return 1


def _say(call: _WordCall, text: str) -> int:
    call.said.out = text
    return 0


def _exit(_: FakeSandbox, call: _WordCall) -> int:
    raise _Exit(int(call.rest[0]))


def _unknown_word(_: FakeSandbox, call: _WordCall) -> int:
    call.said.err = f"{call.command}: command not found\n"
    return _NOT_FOUND


_WORDS: Final[Mapping[str, Callable[[FakeSandbox, _WordCall], int]]] = {
    "true": _succeed,
    "mkdir": _succeed,
    "sleep": _succeed,
    "false": _fail,
    "exit": _exit,
    "pwd": lambda _, call: _say(call, call.cwd + "\n"),
    "echo": lambda _, call: _say(call, " ".join(call.rest) + "\n"),
    "repeat": lambda _, call: _say(call, (call.rest[1] + "\n") * int(call.rest[0])),
    "cat": FakeSandbox.say_file,
    "find": FakeSandbox.say_files,
    "install": FakeSandbox.install,
    "call": FakeSandbox.call,
    "vanish": FakeSandbox.vanish,
}


def _parts(command: str) -> list[tuple[str, str]]:
    outside_quotes = r"(?=(?:[^']*'[^']*')*[^']*$)"
    pieces = re.split(f"(&&|;){outside_quotes}", command)
    return list(zip([";", *pieces[1::2]], pieces[::2], strict=True))


def _cut(text: str, limit: int) -> tuple[str, bool]:
    omitted = len(text) - limit
    if omitted <= 0:
        return text, False
    half = limit // 2
    return f"{text[:half]}\n... [{omitted} bytes omitted] ...\n{text[-half:]}", True
