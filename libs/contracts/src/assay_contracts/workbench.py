"""The workbench: where planners try things out, in sandboxes that live for one question each.

A planner keeps its files; a question brings them along, and its answer says which have changed.
So nothing is leased: any runner answers, and a runner that dies leaves nothing to be found again.
"""

from typing import ClassVar, Final

from pydantic import Field

from assay_contracts.base import Message, Model
from assay_contracts.rpc import Rpc
from assay_contracts.tasks import Check, CheckResult, TaskFile

WORKBENCH_FOLDER: Final = "/workspace/task"
"""Where a command runs, and where its files lie."""
WORKBENCH_BYTES: Final = 448 * 1024
"""Of all files that one question or answer carries: in Base64, they leave room in a message."""
WORKBENCH_FILES: Final = 200
COMMAND_CHARS: Final = 32_000
COMMAND_SECONDS: Final = 60.0
"""Longest that one command may take."""
OUTPUT_CHARS: Final = 16_000
"""Kept of what a command prints."""


class CommandRan(Model):
    """What came of a command."""

    exit_code: int
    output: str
    """Both streams, the errors last; cut in the middle where it is `truncated`."""
    truncated: bool = False
    timed_out: bool = False
    files: tuple[TaskFile, ...] = ()
    """Those that are new or changed."""
    deleted: tuple[str, ...] = ()
    left_behind: tuple[str, ...] = ()
    """New or changed, and too large or too many to come along."""


class RunOnWorkbench(Rpc[CommandRan]):
    """Run a command among these files, with our own tools and without a network."""

    SUBJECT: ClassVar[str] = "workbench.run"
    REPLY = CommandRan

    files: tuple[TaskFile, ...] = Field(default=(), max_length=WORKBENCH_FILES)
    command: str = Field(min_length=1, max_length=COMMAND_CHARS)
    seconds: float = Field(default=COMMAND_SECONDS, gt=0, le=COMMAND_SECONDS)


class Reference(Model):
    """A result that is known to be right, made to try checks on."""

    files: tuple[TaskFile, ...] = ()
    """What right work adds to the task's folder, or changes in it."""
    answer: str = ""
    """What an agent would say or print."""


class ChecksTried(Model):
    """What the checks said, each in the order of the question."""

    on_inputs: tuple[CheckResult, ...]
    on_reference: tuple[CheckResult, ...] = ()
    """Empty where there is no reference."""


class TryChecks(Rpc[ChecksTried]):
    """Try a task's checks on its input files alone and, where there is one, on a reference."""

    SUBJECT: ClassVar[str] = "workbench.try-checks"
    REPLY = ChecksTried

    inputs: tuple[TaskFile, ...] = Field(default=(), max_length=WORKBENCH_FILES)
    checks: tuple[Check, ...]
    reference: Reference | None = None


QUESTIONS: Final[tuple[type[Message], ...]] = (RunOnWorkbench, TryChecks)
"""What the judge asks of the sandbox-runner."""
