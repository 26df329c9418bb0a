"""What is needed from a sandbox, whoever provides it."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final, Literal, Protocol

from assay_contracts.environments import EnvironmentDigest, EnvironmentLock
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

SEALED_AT: Final = 946_684_800
"""When every file of a sealed layer says it was changed: the year 2000, in seconds since 1970."""

FileProblem = Literal[
    "file_not_found", "permission_denied", "is_directory", "invalid_path", "too_large"
]


class SandboxUnavailable(Exception):
    """The platform could not give or keep the sandbox; it makes the run inconclusive."""


class EnvironmentMissing(SandboxUnavailable):
    """There is no environment of that name."""


class NotOffline(SandboxUnavailable):
    """A sandbox whose network was to be blocked is not proven to be blocked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """What every sandbox of a provider has from the start."""

    name: str
    """Changes whenever what is there changes."""
    python: str
    """Path of its Python, inside."""
    python_version: str
    """`3.11`."""
    commands: frozenset[str] = frozenset()
    """What can be run by name."""
    modules: Mapping[str, str] = field(default_factory=dict)
    """Of the modules that installed packages could hide, which package they belong to."""
    owner: int | None = None
    """Whom the files of layers have to belong to on this machine; none means whoever runs this."""
    is_this_machine: bool = False
    """Whether what this machine's own package managers fetch is meant for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """A sealed environment, as folders on this machine's disk."""

    name: str
    """What people know it by."""
    digest: EnvironmentDigest
    layers: tuple[Path, ...] = ()
    """What shows in the home folder, the lowest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedEnvironment:
    """What a run starts from."""

    lock: EnvironmentLock
    """All of it, with what only other skills' runs see."""
    environment: Environment
    """What this run sees of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedRun:
    """A run whose sandbox is still open, as far as sealing needs it."""

    skill: str
    before: Sequence[Package]
    after: Sequence[Package]
    declared: Collection[str]
    """Names of packages that the skill declares, as far as they are known."""
    bundles: Path
    """Where the skills' files lie on this machine."""


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
class HomeFile:
    """A file of a sandbox's home folder."""

    path: str
    """Below it."""
    size: int
    changed_at: int
    """Seconds since 1970; `SEALED_AT` for what a sealed layer brought."""
    data: bool
    """Whether its rights and its first bytes are those of data, not of a program."""


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
    """Longest a command may take whose caller says nothing of time; it may ask for less."""
    install_seconds: float = 0.0
    """Longest a caller may ask for, where that is more."""
    output_bytes: int = 128 * 1024
    """Kept of each of a command's output streams."""
    memory_bytes: int = 2 * 1024**3
    processes: int = 256
    file_bytes: int = 256 * 1024**2
    """Largest file that may be written, uploaded or downloaded."""
    workspace_bytes: int = 512 * 1024**2
    workspace_files: int = 100_000
    """How many files, folders and links may lie in each of the workspace and the temporary
    folder."""
    home_bytes: int = 2 * 1024**3
    """What may be installed, beyond the environment that the sandbox starts from."""
    home_files: int = 250_000

    def seconds_for(self, asked: float | None) -> float:
        """How long a command may take, for which a caller asks for so much time."""
        if asked is None:
            return self.command_seconds
        return min(asked, max(self.command_seconds, self.install_seconds))

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

        A command that takes longer than the limits allow (`Limits.seconds_for`) is killed with
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

    async def home_files(self) -> tuple[HomeFile, ...]:
        """What lies in the home folder now, sealed layers included, the first of many.

        As the sandbox itself tells it: evidence for people, never a list of what to keep.
        """

    def proof(self) -> SandboxProof:
        """In which cell this is and how its network mode was proven."""


class SandboxProvider(Protocol):
    """Gives sandboxes."""

    @property
    def kind(self) -> SandboxKind: ...

    async def base(self) -> Base:
        """What every sandbox has from the start.

        Raises:
            SandboxUnavailable: nobody can tell now.
        """

    def open(
        self,
        *,
        name: str,
        skills: Path,
        network: NetworkMode,
        environment: Environment | None = None,
        limits: Limits | None = None,
    ) -> AbstractAsyncContextManager[Sandbox]:
        """A new sandbox, destroyed on every way out, cancellation included.

        Args:
            name: what it is for; shows in its id. Two sandboxes may have one name.
            skills: a folder with one folder for each skill, read-only inside at `SKILLS`.
            network: a `blocked` sandbox is proven to be so before it is given.
            environment: what is installed from the start; none means nothing beyond the base.
            limits: the defaults where none are given.

        Raises:
            NotOffline: the network was to be blocked and is not proven to be.
            SandboxUnavailable: the sandbox cannot be had.
        """

    async def sweep(self) -> list[str]:
        """Remove what dead processes left behind, and what is too old to be of use.

        Returns:
            The names of what was removed.

        Raises:
            SandboxUnavailable: something cannot be removed; says what, and removes the rest.
        """

    async def close(self) -> None:
        """Let go of what it holds, once its sandboxes are closed."""
