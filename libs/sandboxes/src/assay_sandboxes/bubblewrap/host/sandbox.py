"""A bubblewrap sandbox as whoever uses it sees it."""

import asyncio
import itertools
import json
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from assay_contracts.obstacles import LimitKind
from assay_contracts.runs import NetworkMode, Package, SandboxProof
from assay_sandboxes.bubblewrap import KIND
from assay_sandboxes.bubblewrap.host import layout
from assay_sandboxes.bubblewrap.host.memory_group import MemoryGroup
from assay_sandboxes.bubblewrap.host.output_capture import OutputCapture
from assay_sandboxes.bubblewrap.host.sandbox_folder import SandboxFolder
from assay_sandboxes.bubblewrap.host.sandbox_processes import SandboxProcesses
from assay_sandboxes.bubblewrap.process_one.supervisor import (
    CommandFrame,
    Frame,
    GetFrame,
    PutFrame,
)
from assay_sandboxes.command_environment import HOME
from assay_sandboxes.file_problems import problem_of
from assay_sandboxes.home_files import parse_home_files
from assay_sandboxes.installed_packages import in_order, machine_packages, parse_inventory
from assay_sandboxes.network_probe import Probe
from assay_sandboxes.port import (
    TIMED_OUT,
    WORKSPACE,
    Environment,
    ExecResult,
    FileError,
    HomeFile,
    Limits,
    ObservedCall,
    SandboxUnavailable,
)

_DEATH_S: Final = 10.0
_FILES_S: Final = 60.0
_NEXT_TO_NOTHING: Final = 0.02
_NEXT_TO_NOTHING_S: Final = 0.15
"""Share of a command's time, and seconds: who has taken less of the processor only waited."""
_ANSWER_BYTES: Final = 8 * 1024**2

_FOUND: Final = struct.Struct("<iq")
"""Before each file that is read: an error number, or zero and the file's size."""

_OBSERVED: Final = (
    "Names by the sandbox's own name server, addresses by a system call filter that asks first, in "
    "a process of its own outside the sandbox; both checked against the kernel's count of what had "
    "no route."
)
_OBSERVED_OPEN: Final = (
    "Names and connections as they are carried to the outside, other addresses by a system call "
    "filter that asks first, in a process of its own outside the sandbox."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """One request to the supervisor."""

    operation: str
    number: int
    request: Frame | None = None
    body: bytes = b""
    captures: tuple[OutputCapture, ...] = ()
    """What it writes to."""
    seconds: float


@dataclass(frozen=True, slots=True)
class _Ended:
    code: int
    timed_out: bool


class BubblewrapSandbox:
    """A sandbox on this machine. Made and ended by the provider."""

    def __init__(
        self,
        folder: SandboxFolder,
        processes: SandboxProcesses,
        limits: Limits,
        environment: Environment | None,
    ) -> None:
        self._folder = folder
        self._limits = limits
        self._environment = environment
        self._processes = processes
        self._numbers = itertools.count(1)
        self._captures: set[OutputCapture] = set()
        self._network: NetworkMode = "open"
        self._proof = ""

    @property
    def id(self) -> str:
        return self._folder.id

    async def start(self, skills: Path, network: NetworkMode, probe: Probe) -> None:
        """Start it, and prove that it has no way out but the one that it is given, if any."""
        self._network = network
        layers = self._environment.layers if self._environment else ()
        seen = await self._processes.start(skills, network, probe, layers)
        alone = f"it has a loopback and nothing else. From inside, {seen}."
        self._proof = (
            f"Blocked: {alone}"
            if network == "blocked"
            else f"Open: by itself {alone} Its warden carries connections and look-ups of names to "
            "the outside, as the rules for what may be reached allow, and not to this machine."
        )

    async def stop(self) -> None:
        await self._processes.stop()
        for capture in self._captures:
            capture.close()

    async def execute(
        self, command: str, *, timeout_s: float | None = None, cwd: str = WORKSPACE
    ) -> ExecResult:
        started = time.monotonic()
        number = next(self._numbers)
        out_of_memory = self._killed_for_memory()
        warden = self._processes.warden
        warden.command_started(number, command, cwd)
        job = self._program(
            [layout.shell(), "-c", command],
            cwd=cwd,
            number=number,
            keep=self._limits.output_bytes,
            seconds=self._limits.seconds_for(timeout_s),
        )
        ended = await self._exchange(job)
        warden.settle()
        (stdout, cut_out), (stderr, cut_err) = (capture.take() for capture in job.captures)
        return ExecResult(
            stdout=stdout.decode(errors="replace"),
            stderr=stderr.decode(errors="replace"),
            exit_code=TIMED_OUT if ended.timed_out else ended.code,
            timed_out=ended.timed_out,
            truncated=cut_out or cut_err,
            seconds=time.monotonic() - started,
            limits_hit=_limits_hit(
                time=ended.timed_out and self._was_at_work(job),
                memory=self._killed_for_memory() > out_of_memory,
            ),
        )

    def _was_at_work(self, job: _Job) -> bool:
        """Whether a command that was ended did more than wait."""
        worked = self._processes.supervisor.worked.pop(job.number, job.seconds)
        return worked > max(_NEXT_TO_NOTHING_S, _NEXT_TO_NOTHING * job.seconds)

    def _killed_for_memory(self) -> int:
        group = self._processes.group
        return group.killed() if group else self._processes.warden.ended_for_memory

    async def upload(self, files: Sequence[tuple[str, bytes]]) -> list[FileError | None]:
        request = PutFrame(
            files=[(path, len(content)) for path, content in files],
            file_bytes=self._limits.file_bytes,
        )
        answer = await self._ask("put", request, b"".join(content for _, content in files))
        return [
            FileError(path, problem_of(number)) if number else None
            for (path, _), number in zip(files, json.loads(answer), strict=True)
        ]

    async def download(self, paths: Sequence[str]) -> list[bytes | FileError]:
        limit = self._limits.file_bytes
        request = GetFrame(paths=list(paths), file_bytes=limit)
        answer = memoryview(
            await self._ask("get", request, most=(limit + _FOUND.size) * max(len(paths), 1))
        )
        found: list[bytes | FileError] = []
        for path in paths:
            number, size = _FOUND.unpack_from(answer)
            content, answer = answer[_FOUND.size :][:size], answer[_FOUND.size + size :]
            found.append(FileError(path, problem_of(number)) if number else bytes(content))
        return found

    async def packages(self) -> tuple[Package, ...]:
        job = self._program(
            [layout.interpreter().path, "-I", "-S", layout.INVENTORY],
            cwd=WORKSPACE,
            number=next(self._numbers),
            keep=_ANSWER_BYTES,
            seconds=_FILES_S,
        )
        await self._exchange(job)
        return in_order(parse_inventory(job.captures[0].take()[0]) | machine_packages())

    async def network_calls(self) -> list[ObservedCall]:
        return await self._processes.warden.calls()

    async def home_files(self) -> tuple[HomeFile, ...]:
        job = self._program(
            [layout.interpreter().path, "-I", "-S", layout.HOME_FILES],
            cwd=WORKSPACE,
            number=next(self._numbers),
            keep=_ANSWER_BYTES,
            seconds=_FILES_S,
        )
        await self._exchange(job)
        return parse_home_files(job.captures[0].take()[0])

    def proof(self) -> SandboxProof:
        space = f"{self._limits.home_bytes >> 20} MiB and {self._limits.home_files} files"
        return SandboxProof(
            kind=KIND,
            base=self._environment.name if self._environment else "base",
            environment=self._environment.digest if self._environment else None,
            network=self._network,
            proof=f"{self._proof} {_bounds(self._processes.group)} {HOME} lies on a file system of "
            f"its own in memory, with room for {space}.",
            observation=_OBSERVED if self._network == "blocked" else _OBSERVED_OPEN,
            watched=True,
        )

    def _capture(self, limit: int) -> OutputCapture:
        capture = OutputCapture(limit)
        self._captures = {kept for kept in self._captures if kept.open} | {capture}
        return capture

    def _program(
        self, argv: list[str], *, cwd: str, number: int, keep: int, seconds: float
    ) -> _Job:
        """A job that runs a program and keeps so many bytes of each of its two streams."""
        return _Job(
            operation="run",
            number=number,
            request=CommandFrame(argv=argv, cwd=cwd, number=number),
            captures=(self._capture(keep), self._capture(keep)),
            seconds=seconds,
        )

    async def _ask(
        self,
        operation: str,
        request: Frame,
        body: bytes = b"",
        most: int = _ANSWER_BYTES,
    ) -> bytes:
        capture = self._capture(most)
        job = _Job(
            operation=operation,
            number=next(self._numbers),
            request=request,
            body=body,
            captures=(capture,),
            seconds=_FILES_S,
        )
        ended = await self._exchange(job)
        if ended.code != 0:
            raise SandboxUnavailable(
                f"the sandbox could not do {operation!r}: it ended with code {ended.code}"
            )
        return capture.take()[0]

    async def _exchange(self, job: _Job) -> _Ended:
        supervisor = self._processes.supervisor
        try:
            sinks = [capture.sink for capture in job.captures]
            exited = supervisor.request(job.operation, job.number, job.request, job.body, sinks)
        finally:
            for capture in job.captures:
                capture.handed_over()
        try:
            async with asyncio.timeout(job.seconds):
                return _Ended(await asyncio.shield(exited), timed_out=False)
        except TimeoutError:
            return _Ended(await self._kill_and_wait(job.number, exited), timed_out=True)
        except asyncio.CancelledError:
            supervisor.kill(job.number)
            raise

    async def _kill_and_wait(self, number: int, exited: asyncio.Future[int]) -> int:
        self._processes.warden.let_end()
        self._processes.supervisor.kill(number)
        try:
            async with asyncio.timeout(_DEATH_S):
                return await asyncio.shield(exited)
        except TimeoutError as error:
            why = f"a command outlived its own end by {_DEATH_S:g} seconds"
            self._processes.supervisor.lose(why)
            raise SandboxUnavailable(why) from error


def _bounds(group: MemoryGroup | None) -> str:
    """How its shares of memory and processors are kept."""
    memory = (
        "Memory is bounded for all its processes together, by a control group"
        if group
        else "Memory is bounded for each of its processes, and for all together by its warden, "
        "which looks five times a second and ends the largest when it is too much"
    )
    processors = (
        "it weighs as one among the sandboxes however many processes it has"
        if group and group.cpu
        else "its processes step back when it has used up its share"
    )
    return f"{memory}; of the processors, {processors}."


def _limits_hit(*, time: bool, memory: bool) -> tuple[LimitKind, ...]:
    hit: dict[LimitKind, bool] = {"time": time, "memory": memory}
    return tuple(kind for kind, was_hit in hit.items() if was_hit)
