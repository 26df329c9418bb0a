"""What is needed from a sandbox, whoever provides it."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, Literal, Protocol

from assay_contracts.obstacles import LimitKind
from assay_contracts.runs import NetworkMode, NetworkProblem, Package, SandboxKind, SandboxProof

WORKSPACE: Final = "/workspace"
SKILLS: Final = "/workspace/skills"
TIMED_OUT: Final = 124
"""Exit code of a command that ran into its time limit."""
NOT_OBSERVED: Final = "Not observed"
"""Begins the observation in the proof of a sandbox whose network calls nobody sees."""
OPEN_NOT_OBSERVED: Final = f"{NOT_OBSERVED}: here only a blocked network is watched."
COMMAND_CHARS: Final = 200
"""Of a command, so many tell a network call's maker."""
UNKNOWN_PLACE: Final = "unknown"
"""Where a call went that only the kernel counted."""

FileProblem = Literal[
    "file_not_found", "permission_denied", "is_directory", "invalid_path", "too_large"
]


class SandboxUnavailable(Exception):
    """The platform could not give or keep the sandbox; it makes the run inconclusive."""


class SnapshotMissing(SandboxUnavailable):
    """There is no snapshot of that name."""


class NotOffline(SandboxUnavailable):
    """A sandbox whose network was to be blocked is not proven to be blocked."""


@dataclass(frozen=True, slots=True)
class ExecResult:
    """What came of one command. Output is cut in the middle where `truncated`."""

    stdout: str
    stderr: str
    exit_code: int
    """128 + signal for a command killed by one; `TIMED_OUT` for one that took too long."""
    timed_out: bool
    truncated: bool
    seconds: float
    limits_hit: tuple[LimitKind, ...] = ()
    """Limits that the sandbox saw it run into. `time` only where it was at work: a command that did
    next to nothing all the while hangs."""

    @property
    def output(self) -> str:
        """Both streams, the errors last."""
        if not self.stdout or not self.stderr:
            return self.stdout or self.stderr
        separator = "" if self.stdout.endswith("\n") else "\n"
        return self.stdout + separator + self.stderr


@dataclass(frozen=True, slots=True)
class FileError:
    """Why one file could not be written or read."""

    path: str
    problem: FileProblem


@dataclass(frozen=True, slots=True)
class RunningProgram:
    """What a process shows of itself."""

    command_line: str
    """Shortened."""
    folder: str
    """Where it is; empty where that is not known."""


@dataclass(frozen=True, slots=True)
class ObservedCall:
    """One process reaching for one place outside the sandbox, however often it tries.

    Where the process is not known, one command reaching for one place.
    """

    at: datetime
    """Of the first attempt, in UTC."""
    destination: str
    """Host name where the sandbox asked for one, else `address:port`, else `unknown`."""
    command: str
    """The command that made it, shortened."""
    cwd: str | None = None
    """Where that command was started; none where it is not known which one it was."""
    process: str | None = None
    """Tells processes of one sandbox apart; none where it is not known which one it was."""
    programs: tuple[RunningProgram, ...] = ()
    """What the process runs, then what runs above it, up to the command."""
    attempts: int = 1
    """How often it was tried, retries included."""
    problem: NetworkProblem | None = None
    """Why it got nowhere, where that is known."""
    refused: str | None = None
    """Why it was denied: what the rules for egress have against the place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one sandbox may use."""

    command_seconds: float = 120.0
    """Longest a command may take; a call may ask for less, not for more."""
    output_bytes: int = 128 * 1024
    """Kept of each of a command's output streams."""
    memory_bytes: int = 2 * 1024**3
    processes: int = 256
    file_bytes: int = 256 * 1024**2
    """Largest file that may be written, uploaded or downloaded."""
    workspace_bytes: int = 512 * 1024**2
    home_bytes: int = 2 * 1024**3
    """What may be installed: the environment that a snapshot keeps."""

    def of_each_command(self) -> dict[str, int]:
        """What one command and whatever it starts may use, by the names that `guest` knows."""
        return {
            "memory_bytes": self.memory_bytes,
            "processes": self.processes,
            "file_bytes": self.file_bytes,
        }


class Sandbox(Protocol):
    """A cell that commands run in. Every method raises `SandboxUnavailable` once it is lost."""

    @property
    def id(self) -> str:
        """Unique to this sandbox, never used again."""

    async def execute(
        self, command: str, *, timeout_s: float | None = None, cwd: str = WORKSPACE
    ) -> ExecResult:
        """Run a shell command with nothing on its standard input.

        A command that takes longer than `timeout_s`, or than the limits allow, is killed with
        everything it started. What a command that ends leaves running goes on. Cancelling the
        call kills the command.
        """

    async def upload(self, files: Sequence[tuple[str, bytes]]) -> list[FileError | None]:
        """Write files, `(absolute path, content)`, making folders; one answer for each."""

    async def download(self, paths: Sequence[str]) -> list[bytes | FileError]:
        """Read files by absolute path; one answer for each."""

    async def packages(self) -> tuple[Package, ...]:
        """What is installed now, in a stable order."""

    async def network_calls(self) -> list[ObservedCall]:
        """Every call attempted since the sandbox was opened, oldest first.

        Empty where calls are not observed; `proof().watched` tells the two apart.
        """

    async def snapshot(self, name: str) -> None:
        """Keep the environment (what was installed), not the workspace, under `name`.

        Ends every process that commands left running. Replaces a snapshot of that name. The
        workspace may be empty afterwards.
        """

    def proof(self) -> SandboxProof:
        """In which cell this is and how its network mode was proven."""


class SandboxProvider(Protocol):
    """Gives sandboxes and keeps their snapshots."""

    @property
    def kind(self) -> SandboxKind: ...

    def open(
        self,
        *,
        name: str,
        skills: Path,
        network: NetworkMode,
        base: str | None = None,
        limits: Limits | None = None,
    ) -> AbstractAsyncContextManager[Sandbox]:
        """A new sandbox, destroyed on every way out, cancellation included.

        Args:
            name: what it is for; shows in its id. Two sandboxes may have one name.
            skills: a folder with one folder for each skill, read-only inside at `SKILLS`.
            network: a `blocked` sandbox is proven to be so before it is given.
            base: the snapshot whose environment to start from; none means the base environment.
            limits: the defaults where none are given.

        Raises:
            NotOffline: the network was to be blocked and is not proven to be.
            SandboxUnavailable: the sandbox cannot be had, or the snapshot does not exist.
        """

    async def keep_snapshot(self, name: str) -> None:
        """Exempt a snapshot from its time to live; it stays until it is deleted or replaced.

        Raises:
            SnapshotMissing: there is none of that name.
            SandboxUnavailable: it cannot be kept now.
        """

    async def delete_snapshot(self, name: str) -> None:
        """Delete a snapshot; one that does not exist is deleted already."""

    async def sweep(self) -> list[str]:
        """Remove what dead processes left behind and snapshots past their time.

        Returns:
            The ids of the sandboxes and the names of the snapshots that were removed.

        Raises:
            SandboxUnavailable: something cannot be removed; says what, and removes the rest.
        """

    async def close(self) -> None:
        """Let go of what it holds, once its sandboxes are closed."""
