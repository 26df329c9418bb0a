"""What this service needs from the outside, beside sandboxes."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from assay_contracts.base import ModelUse
from assay_contracts.environments import SealedEnvironment
from assay_contracts.runs import MountedSkill, Trace, TraceStep
from assay_contracts.tasks import Task
from assay_contracts.validations import ValidationProgressed
from assay_sandbox_runner.domain.documents import DocumentText
from assay_sandbox_runner.domain.timing import Stopwatch
from assay_sandbox_runner.domain.work_done import WorkDone
from assay_sandboxes.port import EndedRun, OpenedEnvironment, Sandbox


class StoreFailed(Exception):
    """A bundle or a trace could not be read or written."""


class PatternProblem(Exception):
    """A pattern could not be searched for."""


@dataclass(frozen=True, slots=True)
class MountedSkills:
    """Skills on disk, ready to be mounted."""

    folder: Path
    files: Mapping[str, frozenset[str]]
    """For each skill's folder name, its files relative to that folder."""
    neighbours: tuple[str, ...] = ()
    """Those of them that are built in."""


class Bundles(Protocol):
    def mounted(
        self, skills: Sequence[MountedSkill], *, neighbours: Mapping[str, str]
    ) -> AbstractAsyncContextManager[MountedSkills]:
        """The skills laid out in a folder that goes away afterwards. Raises StoreFailed.

        `neighbours` are laid out beside them: for each name, a SKILL.md.
        """

    async def manual(self, skills: MountedSkills, name: str) -> str:
        """The SKILL.md of one of them; empty where that skill is not among them."""

    async def texts(self, skills: MountedSkills, names: Sequence[str]) -> Mapping[str, str]:
        """What each text file of the skills of these names says, long ones cut off.

        Keys are paths that begin with the skill's name.
        """

    async def file_texts(
        self, skills: MountedSkills, files: Collection[tuple[str, str]]
    ) -> list[str]:
        """As `texts`, of these files alone: each a skill's folder name and a path below it."""


class Environments(Protocol):
    """Environments by name. Every method raises `SandboxUnavailable`."""

    async def open(
        self, name: str | None, *, skill: str, without: Collection[str] = ()
    ) -> OpenedEnvironment:
        """What a run about a skill starts from, without the parts of those others.

        No name means the base. Raises EnvironmentMissing.
        """

    async def seal(
        self, name: str, opened: OpenedEnvironment, sandbox: Sandbox, ran: EndedRun
    ) -> SealedEnvironment:
        """Have what a run installed be an environment of that name."""

    async def keep(self, name: str) -> None:
        """Let it outlive its time. Raises EnvironmentMissing."""

    async def delete(self, name: str) -> None:
        """One that does not exist is deleted already."""


class ReadDocuments(Protocol):
    async def __call__(self, files: Mapping[str, bytes]) -> Mapping[str, DocumentText]:
        """What each file says, by path; never raises for what a file holds."""


class FindPassages(Protocol):
    async def __call__(self, pattern: str, text: str) -> Sequence[tuple[int, int]]:
        """Where the first matches start and end. Raises PatternProblem."""


class Traces(Protocol):
    async def keep(self, key: str, trace: Trace) -> None:
        """Raises StoreFailed."""


class Progress(Protocol):
    async def __call__(self, progress: ValidationProgressed) -> None:
        """Say how far a run has come; never raises."""


class ExecutingAgents(Protocol):
    """The executing agents of one run: one for each task, with one meter for all of them."""

    async def work_on(
        self,
        task: Task,
        *,
        sandbox: Sandbox,
        folder: str,
        skills: Collection[str],
        seconds: float,
        tokens: int | None,
    ) -> WorkDone:
        """Let an agent work on the task in `folder`; several may be at work at once.

        Args:
            task: Its input files are in the folder already.
            sandbox: Where everything happens.
            folder: Where commands run and results belong.
            skills: Folder names of the skills that the agent must be told of.
            seconds: After these, the work is what has been done by then.
            tokens: Once the agent has used these, likewise; none means no bound.

        Raises:
            AgentFailed: the model failed.
            SandboxUnavailable: the sandbox was lost.
        """

    async def choose_for(
        self,
        prompt: str,
        *,
        sandbox: Sandbox,
        folder: str,
        skills: Collection[str],
        seconds: float,
        tokens: int | None,
    ) -> tuple[TraceStep, ...]:
        """What an agent does about the prompt until it has chosen a skill, or none.

        It may look around; everything else is written down and not carried out. Arguments and
        exceptions are those of `work_on`.
        """

    def model_use(self) -> ModelUse:
        """What their work on tasks has cost so far."""

    def near_miss_use(self) -> ModelUse:
        """What their choices for near misses have cost so far."""

    def was_installing(self) -> bool:
        """Whether one of them was cut short while it installed packages."""


class AgentsForRun(Protocol):
    def __call__(self, stopwatch: Stopwatch) -> ExecutingAgents:
        """The agents of a new run; the stopwatch runs while their commands do."""


class FindPattern(Protocol):
    async def __call__(self, pattern: str, text: str) -> str | None:
        """The first match, shortened, or None. Raises PatternProblem."""
