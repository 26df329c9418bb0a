"""Whether a task was done with the skill under test, around it, or without it."""

from collections.abc import Mapping
from typing import Final, Literal

from pydantic import Field

from assay_contracts.base import Model
from assay_contracts.tasks import TaskId

AttributionKind = Literal["with", "around", "without"]
"""`with`: the skill's material was used and what it offers worked. `around`: its programs failed
and the agent made do. `without`: nothing of the skill was used."""
ProgramEnd = Literal["worked", "unclear", "refused", "crashed", "set_aside", "hindered"]
"""`refused`: it ended with an error of its own making. `unclear`: its end cannot be told from that
of other commands on the same line. `set_aside`: it ended well, but nothing of what it gave is in
the result, which the agent worked out itself. `hindered`: it failed, and an obstacle that is not
the skill's stood in its way, so that its failure shows nothing."""


COUNTS_AT_MOST: Final[Mapping[AttributionKind, int]] = {"with": 5, "around": 2, "without": 2}
"""The highest grade that counts for completion: what an agent did on its own says nothing about the
skill, however well it was done."""


class ProgramRun(Model):
    """One of the skill's own programs, run by the agent."""

    program: str
    """Path in the skill's folder."""
    command: str = Field(max_length=400)
    step: int = Field(ge=0)
    """Index into the trace's steps."""
    ended: ProgramEnd
    error: str = Field(default="", max_length=500)
    """The line that explains why it did not work."""

    @property
    def failed(self) -> bool:
        return self.ended in ("refused", "crashed", "set_aside")


class Attribution(Model):
    """What part the skill had in one task, read from the trace alone."""

    kind: AttributionKind
    programs: tuple[ProgramRun, ...] = ()
    """Runs of the skill's programs, the first of many."""


class Defect(Model):
    """A program of the skill that never worked."""

    program: str
    command: str
    error: str
    tasks: tuple[TaskId, ...]
    """In which it was run."""
    main_path: bool
    """Whether a task had to be done around it. One that did no such harm is a helper's defect."""


def counted_grade(grade: int, attribution: Attribution | None) -> int:
    """What a grade counts for completion; as it is where nobody looked at the skill's part."""
    return grade if attribution is None else min(grade, COUNTS_AT_MOST[attribution.kind])
