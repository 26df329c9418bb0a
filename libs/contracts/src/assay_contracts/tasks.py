"""A blind task: what an agent is asked to do, and how its result is checked."""

import base64
import binascii
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from assay_contracts.base import Model

TaskId = Annotated[str, Field(pattern=r"^t[1-9][0-9]?$")]

NearMissId = Annotated[str, Field(pattern=r"^n[1-9]$")]


class TaskFile(Model):
    """A file of a task: an input, put into its folder before the agent starts, or a result."""

    path: str
    """Relative to the task's folder."""
    content: str
    encoding: Literal["text", "base64"] = "text"
    """How the content is written down: a picture or a document goes as Base64."""

    @model_validator(mode="after")
    def _is_readable(self) -> "TaskFile":
        if self.encoding == "base64":
            try:
                base64.b64decode(self.content, validate=True)
            except binascii.Error as error:
                raise ValueError(f"the content of {self.path!r} is no Base64") from error
        return self

    @classmethod
    def of(cls, path: str, data: bytes) -> Self:
        """The file of these bytes: as text where it is text."""
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            text = "\0"
        if "\0" in text:
            return cls(path=path, content=base64.b64encode(data).decode(), encoding="base64")
        return cls(path=path, content=text)

    def to_bytes(self) -> bytes:
        """What the file holds."""
        if self.encoding == "base64":
            return base64.b64decode(self.content)
        return self.content.encode()


class _Check(Model):
    """A check's `kind` has a default for whoever writes one in code; readers must be told it."""

    model_config = ConfigDict(
        json_schema_extra=lambda schema: schema.update(
            required=["kind", *schema.get("required", ())]
        )
    )


class CommandCheck(_Check):
    """Passes when the shell command, run in a copy of the task's folder, exits with `exit_code`."""

    kind: Literal["command"] = "command"
    command: str
    exit_code: int = 0


class FileCheck(_Check):
    """Passes when the file exists in the task's folder and is not empty."""

    kind: Literal["file"] = "file"
    path: str


class PatternCheck(_Check):
    """Passes when the pattern is found in the file, or in the agent's output if none is named."""

    kind: Literal["pattern"] = "pattern"
    pattern: str
    path: str | None = None


class ProgramCheck(_Check):
    """Passes when the Python program, run in a copy of the task's folder, exits with 0."""

    kind: Literal["program"] = "program"
    source: str = Field(min_length=1, max_length=16_000)


Check = Annotated[
    CommandCheck | FileCheck | PatternCheck | ProgramCheck, Field(discriminator="kind")
]


class CheckTrial(Model):
    """How a check fared when it was tried, before anybody was asked to do the task."""

    passes_on_inputs: bool
    """It passes on the input files alone, so that passing shows nothing."""
    passes_on_reference: bool | None = None
    """Whether it passes on a result that is known to be right; none when there is no such."""


class Task(Model):
    task_id: TaskId
    prompt: str = Field(min_length=1, max_length=8000)
    files: tuple[TaskFile, ...] = ()
    success_criterion: str = Field(min_length=1, max_length=2000)
    checks: tuple[Check, ...] = ()
    trials: tuple[CheckTrial, ...] = ()
    """One for each check, in order; empty where nobody tried them."""


class NearMiss(Model):
    """A prompt for which the skill under test should stay silent."""

    near_miss_id: NearMissId
    prompt: str = Field(min_length=1, max_length=8000)


class CheckResult(Model):
    check: Check
    passed: bool
    detail: str = Field(max_length=2000)
    passed_before: bool = False
    """It passed before any work was done too, so that passing shows nothing."""
    passed_on_reference: bool | None = None
    """Whether it passes on a result that is known to be right; none when there is no such result.
    A check that fails there is wrong itself."""
