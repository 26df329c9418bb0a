"""A run: one set of tasks carried out in one sandbox, and the traces it leaves."""

from typing import Annotated, ClassVar, Literal, Protocol

from pydantic import AwareDatetime, BeforeValidator, Field, StringConstraints

from assay_contracts.attribution import Attribution
from assay_contracts.base import Model, ModelUse, Result, Work
from assay_contracts.coverage import Coverage, TaskShows
from assay_contracts.environments import EnvironmentDigest, SealedEnvironment
from assay_contracts.obstacles import LimitKind, Obstacle
from assay_contracts.skills import BundleRef, Dependencies
from assay_contracts.tasks import CheckResult, NearMiss, NearMissId, Task, TaskId

RunKind = Literal["online", "offline", "regression", "mending", "control"]
"""`control`: as `online`, without the skill under test.
`mending`: no tasks; other versions of packages are installed, and the environment is kept."""
SandboxKind = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*$", max_length=40)]
"""Who provides a sandbox, by the name that the provider gives itself."""
NetworkMode = Literal["open", "blocked"]
NetworkCause = Literal["skill", "package_manager", "agent"]
"""Whose doing a network call was: the skill's programs and what it tells agents to do, a package
manager fetching what the skill does not name, or the agent's own idea."""
NetworkProblem = Literal["unresolved", "denied", "unreachable"]
"""Why a call got nowhere: its name did not resolve, the policy forbids it, or nobody answered."""
InstallFailureCause = Literal["unavailable", "limit", "missing", "conflict", "broken"]
"""Why something declared could not be installed. Not the skill's: `unavailable` (the package index
could not be reached), `limit` (of our sandbox). The skill's: `missing` (there is no such package or
version), `conflict` (what it declares cannot be together), `broken` (it does not build)."""
UseKind = Literal["read", "run"]
Bound = Literal["steps", "time", "output", "tokens"]
Ecosystem = Literal["pip", "npm", "system"]


class MountedSkill(Model):
    """A skill that the executing agent finds under `/workspace/skills/<name>/`."""

    name: str
    bundle: BundleRef


class SkillUse(Model):
    """Evidence of use: a successful read of the skill's SKILL.md, or a run of its files."""

    skill: str
    kind: UseKind
    evidence: str
    """The tool call it rests on."""
    step: int = Field(ge=0)
    """Index into the trace's steps."""


class NetworkCall(Model):
    """One process reaching for one place other than the sandbox's own loopback."""

    at: AwareDatetime
    """Of the first attempt."""
    task_id: TaskId | None
    command: str
    """The agent's."""
    destination: str
    """Host name where the sandbox asked for one, else address, else `unknown`."""
    attempts: int = Field(default=1, ge=1)
    """How often it was tried, retries included."""
    program: str | None = None
    """Command line of the process that made it; none where that is not known."""
    cause: NetworkCause | None = None
    """Whose doing it was; older runners do not say."""
    problem: NetworkProblem | None = None
    """Why it got nowhere, where that is known."""
    refused: str | None = None
    """Where it is `denied`: what the rules have against the place."""

    @property
    def counts(self) -> bool:
        """Whether it is held against the skill: it is unless somebody else is known to be why."""
        return self.cause in (None, "skill")


class TraceStep(Model):
    """One tool call and what came of it."""

    tool: str
    arguments: str
    """JSON of the arguments."""
    output: str
    truncated: bool = False
    failed: bool = False
    """The tool itself refused or broke; a command that ran and ended badly has an exit code."""
    exit_code: int | None = None
    limits_hit: tuple[LimitKind, ...] = ()
    """Limits of the sandbox that the sandbox itself saw the command run into."""
    skill_text: tuple[tuple[int, int], ...] = ()
    """Where in the output stands text of a skill's files word for word: start and end, in order."""
    at: AwareDatetime
    seconds: float = Field(ge=0)


class ProducedFile(Model):
    """A file of the task's folder after the work, as far as the trace keeps what it says."""

    path: str
    """Relative to the task's folder."""
    size: int = Field(ge=0)
    """Bytes of the whole file."""
    kind: str
    """`text`, `pdf`, `docx`, `xlsx`, `pptx`, `archive`, `image`, `audio` or `binary`."""
    note: str = ""
    """Its structure (`2 pages`), or why there is no text."""
    text: str = ""
    """What it says; marks stand where something was left out."""
    cut: bool = False
    """Whether something was left out."""
    picture: str | None = None
    """A small image whole, in Base64."""


class Trace(Model):
    """What the agent did in one task. Stored whole in the `traces` bucket."""

    task_id: TaskId
    prompt: str
    steps: tuple[TraceStep, ...]
    answer: str
    """The agent's last words: its claim, not evidence."""
    files_made: tuple[str, ...] = ()
    produced: tuple[ProducedFile, ...] = ()
    """What the files say that were made or changed, or that the checks or the prompt name."""
    skills_used: tuple[SkillUse, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    bounds_hit: tuple[Bound, ...] = ()
    attribution: Attribution | None = None
    """What part the skill under test had; none where that was not looked at."""
    obstacles: tuple[Obstacle, ...] = ()
    """What stood in the way of its steps, each with the step."""
    shows: TaskShows | None = None
    """What it shows of what the skill documents, where the built-in model did it."""


class JudgeSteps(Model):
    """What one agent of the judge did about one thing it was asked."""

    agent: str
    """`judge` for the main agent, else the name of the sub-agent."""
    about: str
    """Which task, or which part of the work."""
    steps: tuple[TraceStep, ...] = ()
    refused: tuple[str, ...] = ()
    """Why its drafts were given back, in order."""


class JudgeTrace(Model):
    """What every agent of the judge did for one step. Stored in the `judging` bucket."""

    agents: tuple[JudgeSteps, ...]


class TaskOutcome(Model):
    """The short form of a trace, small enough for a message."""

    task_id: TaskId
    trace_key: str
    skills_used: tuple[SkillUse, ...]
    checks: tuple[CheckResult, ...]
    bounds_hit: tuple[Bound, ...] = ()
    actions: tuple[str, ...] = ()
    """What the agent did, a line for each tool call, the first and the last of many."""
    files_made: tuple[str, ...] = ()
    """Paths below the task's folder, the first of many."""
    commands: int = Field(ge=0)
    seconds: float = Field(ge=0)
    answer: str = Field(max_length=4000)
    attribution: Attribution | None = None
    """What part the skill under test had; none in older data."""
    obstacles: tuple[Obstacle, ...] = ()
    """What stood in the way of the work and was not overcome, the first of many."""
    shows: TaskShows | None = None
    """What it shows of what the skill documents, where the built-in model did it: that follows the
    document and does nothing else. None where an LLM did it."""

    def used(self, skill: str) -> bool:
        """Whether the trace shows that the skill of this name was used."""
        return any(use.skill == skill for use in self.skills_used)


class NearMissOutcome(Model):
    """What an agent chose for a near miss; it went no further than that."""

    near_miss_id: NearMissId
    skills_opened: tuple[str, ...]
    """In the order in which it did."""


class SandboxProof(Model):
    """In which cell the run happened and how its network mode was proven."""

    kind: SandboxKind
    base: str
    """Snapshot it was created from, or `base`."""
    environment: EnvironmentDigest | None = None
    """What it had when it was opened; older runners do not say."""
    network: NetworkMode
    proof: str
    """What the probe from inside did and saw."""
    observation: str
    """How network calls were counted."""
    watched: bool | None = None
    """Whether they were counted at all; older runners do not say, and watched blocked networks."""

    @property
    def is_watched(self) -> bool:
        return self.network == "blocked" if self.watched is None else self.watched


def _first_of(characters: int) -> BeforeValidator:
    def cut(text: object) -> object:
        if not isinstance(text, str) or len(text) <= characters:
            return text
        mark = f"… ({len(text)} characters)"
        return text[: characters - len(mark)] + mark

    return BeforeValidator(cut)


PackageName = Annotated[str, _first_of(300)]
PackageVersion = Annotated[str, _first_of(200)]
Requirement = Annotated[str, _first_of(500)]
"""A package says these of itself, at any length; what is longer than any real one is cut, and says
so, so that no message grows with it."""


class Package(Model):
    ecosystem: Ecosystem
    name: PackageName
    version: PackageVersion
    requires: tuple[Requirement, ...] = ()
    """What its metadata says it needs: `name[extra]>=1; extra == "x"` for pip, `name@range` for
    npm, names for the system. In a result, only where it leads to something that changed."""
    place: str = ""
    """For npm, the folder below the shared `node_modules` that it lies in; empty elsewhere."""


class Installation(Model):
    """What was declared and installed before the tasks, by one package manager."""

    ecosystem: Ecosystem
    requirements: tuple[str, ...]
    """As declared."""
    declared_in: tuple[str, ...] = ()
    """The files that declare them."""
    required: bool = True
    """False for what prose merely shows how to install: failing that decides nothing."""
    seconds: float = Field(ge=0)
    failure: str | None = Field(default=None, max_length=2000)
    """What the package manager said where it could not."""
    cause: InstallFailureCause | None = None

    @property
    def is_the_skills(self) -> bool:
        """Whether it failed for what the skill declares."""
        return self.cause in ("missing", "conflict", "broken")


class RunTimings(Model):
    """Seconds. What is left of `wall` after the others is the platform's overhead."""

    wall: float = Field(ge=0)
    model: float = Field(ge=0)
    commands: float = Field(ge=0)


class ListsNetworkCalls(Protocol):
    """A list that may be cut, and how much was cut off."""

    @property
    def network_calls(self) -> tuple[NetworkCall, ...]: ...

    @property
    def network_calls_omitted(self) -> int: ...


class CountsNetworkCalls:
    """A run, or what a report says of one. Nobody else counts its network calls."""

    @property
    def network_calls_attempted(self: ListsNetworkCalls) -> int:
        """All of them: those that are listed, and those that were left out."""
        return len(self.network_calls) + self.network_calls_omitted

    @property
    def network_calls_counted(self: ListsNetworkCalls) -> int:
        """Those that are held against the skill.

        They are listed before any other, so where one that is not is listed, none was left out.
        """
        counted = sum(call.counts for call in self.network_calls)
        all_count = counted == len(self.network_calls)
        return counted + (self.network_calls_omitted if all_count else 0)


class RunFinished(CountsNetworkCalls, Result):
    """The run has ended. Public to judge and scorer only."""

    SUBJECT: ClassVar[str] = "run.finished"

    outcomes: tuple[TaskOutcome, ...] = ()
    network_calls: tuple[NetworkCall, ...] = ()
    network_calls_omitted: int = Field(default=0, ge=0)
    """How many more there were than a message can list."""
    coverage: Coverage | None = None
    """What of the skill under test was tried; none where agents were not shown it."""
    near_misses: tuple[NearMissOutcome, ...] = ()
    """Those that could be tried."""
    neighbours: tuple[str, ...] = ()
    """Built-in skills that agents saw beside the mounted ones."""
    sandbox: SandboxProof | None = None
    candidate: str | None = None
    candidate_expires_at: AwareDatetime | None = None
    """Until when the snapshot is there if nobody asks to keep it; not said by older runners."""
    sealed: SealedEnvironment | None = None
    """What the candidate is made of; none where nothing was to be kept, and from older runners."""
    packages_before: tuple[Package, ...] = ()
    packages_after: tuple[Package, ...] = ()
    offered: tuple[Package, ...] = ()
    """Versions that could be had, as far as the sandbox can tell, of packages that an online run
    left at another version than it found them."""
    installations: tuple[Installation, ...] = ()
    """What the skill declares and was installed before the tasks."""
    install_failure: str | None = Field(default=None, max_length=2000)
    """What the installer said where something could not be installed; nothing is kept then."""
    model: ModelUse | None = None
    """What the tasks cost."""
    near_miss_model: ModelUse | None = None
    """What the near misses cost; older runners count it under `model`."""
    timings: RunTimings | None = None


class RunRequested(Work):
    """Carry these tasks out in one sandbox."""

    SUBJECT: ClassVar[str] = "run.requested"
    RESULT = RunFinished

    kind: RunKind
    tasks: tuple[Task, ...]
    near_misses: tuple[NearMiss, ...] = ()
    """Tried beside the tasks, as far as the choice of a skill."""
    skills: tuple[MountedSkill, ...]
    base: str | None = None
    """Snapshot to start from; none means the base environment."""
    without: tuple[str, ...] = ()
    """Skills whose parts of that environment are to be left out: they were deleted."""
    install: tuple[Package, ...] = ()
    """What to install before the tasks, at exactly these versions."""
    dependencies: Dependencies = Dependencies()
    """What the skill declares, to be installed before the tasks."""
    capture: str | None = None
    """Name under which to keep the environment afterwards, if at all."""
    time_limit_s: float = Field(gt=0)
