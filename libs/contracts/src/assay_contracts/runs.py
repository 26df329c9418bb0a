"""A run: one set of tasks carried out in one sandbox, and the traces it leaves."""

from typing import Annotated, ClassVar, Final, Literal, Protocol

from pydantic import AwareDatetime, Field, StringConstraints

from assay_contracts.base import Model, Result, Work
from assay_contracts.skills import BundleRef
from assay_contracts.tasks import CheckResult, Task, TaskId

RunKind = Literal["online", "offline", "regression", "mending"]
"""`mending`: no tasks; other versions of packages are installed, and the environment is kept."""
SandboxKind = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*$", max_length=40)]
"""Who provides a sandbox, by the name that the provider gives itself."""
NetworkMode = Literal["open", "blocked"]
UseKind = Literal["read", "run"]
Bound = Literal["steps", "time", "output", "tokens"]
Ecosystem = Literal["pip", "npm", "system"]
Role = Literal["planner", "executor", "grader", "reporter"]

REHEARSAL: Final = "rehearsal"
"""Provider of the built-in deterministic model."""


class MountedSkill(Model):
    """A skill that the executing agent finds under `/workspace/skills/<name>/`."""

    name: str
    bundle: BundleRef


class ModelUse(Model):
    """What one role's model was and what it cost."""

    role: Role
    model: str
    """`provider:model`, or `rehearsal:<version>` when no LLM took part."""
    prompt_version: str
    calls: int = Field(ge=0)
    input_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
    seconds: float = Field(ge=0)
    """Time spent waiting for the model."""

    @property
    def tokens(self) -> int:
        """Read and written together."""
        return self.input_tokens + self.output_tokens

    @property
    def is_rehearsal(self) -> bool:
        """Whether the built-in model stood in for an LLM."""
        return self.model.startswith(f"{REHEARSAL}:")


class SkillUse(Model):
    """Evidence of use: a successful read of the skill's SKILL.md, or a run of its files."""

    skill: str
    kind: UseKind
    evidence: str
    """The tool call it rests on."""
    step: int = Field(ge=0)
    """Index into the trace's steps."""


class NetworkCall(Model):
    """One attempt to reach anything but the sandbox's own loopback."""

    at: AwareDatetime
    task_id: TaskId | None
    command: str
    destination: str
    """Host name where the sandbox asked for one, else address, else `unknown`."""


class TraceStep(Model):
    """One tool call and what came of it."""

    tool: str
    arguments: str
    """JSON of the arguments."""
    output: str
    truncated: bool = False
    failed: bool = False
    exit_code: int | None = None
    at: AwareDatetime
    seconds: float = Field(ge=0)


class Trace(Model):
    """What the agent did in one task. Stored whole in the `traces` bucket."""

    task_id: TaskId
    prompt: str
    steps: tuple[TraceStep, ...]
    answer: str
    """The agent's last words: its claim, not evidence."""
    files_made: tuple[str, ...] = ()
    skills_used: tuple[SkillUse, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    bounds_hit: tuple[Bound, ...] = ()


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

    def used(self, skill: str) -> bool:
        """Whether the trace shows that the skill of this name was used."""
        return any(use.skill == skill for use in self.skills_used)


class SandboxProof(Model):
    """In which cell the run happened and how its network mode was proven."""

    kind: SandboxKind
    base: str
    """Snapshot it was created from, or `base`."""
    network: NetworkMode
    proof: str
    """What the probe from inside did and saw."""
    observation: str
    """How network calls were counted."""


class Package(Model):
    ecosystem: Ecosystem
    name: str
    version: str
    requires: tuple[str, ...] = ()
    """What its metadata says it needs: `name[extra]>=1; extra == "x"` for pip, `name@range` for
    npm, names for the system. In a result, only where it leads to something that changed."""


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


class RunFinished(CountsNetworkCalls, Result):
    """The run has ended. Public to judge and scorer only."""

    SUBJECT: ClassVar[str] = "run.finished"

    outcomes: tuple[TaskOutcome, ...] = ()
    network_calls: tuple[NetworkCall, ...] = ()
    network_calls_omitted: int = Field(default=0, ge=0)
    """How many more there were than a message can list."""
    sandbox: SandboxProof | None = None
    candidate: str | None = None
    candidate_expires_at: AwareDatetime | None = None
    """Until when the snapshot is there if nobody asks to keep it; not said by older runners."""
    packages_before: tuple[Package, ...] = ()
    packages_after: tuple[Package, ...] = ()
    offered: tuple[Package, ...] = ()
    """Versions that could be had, as far as the sandbox can tell, of packages that an online run
    left at another version than it found them."""
    install_failure: str | None = Field(default=None, max_length=2000)
    """What the installer said where something could not be installed; nothing is kept then."""
    model: ModelUse | None = None
    timings: RunTimings | None = None


class RunRequested(Work):
    """Carry these tasks out in one sandbox."""

    SUBJECT: ClassVar[str] = "run.requested"
    RESULT = RunFinished

    kind: RunKind
    tasks: tuple[Task, ...]
    skills: tuple[MountedSkill, ...]
    base: str | None = None
    """Snapshot to start from; none means the base environment."""
    install: tuple[Package, ...] = ()
    """What to install before the tasks."""
    capture: str | None = None
    """Name under which to keep the environment afterwards, if at all."""
    time_limit_s: float = Field(gt=0)
