"""What a score rests on, and what was done where it rested on too little."""

from typing import Literal

from pydantic import Field

from assay_contracts.base import Model
from assay_contracts.tasks import TaskId

RepeatCause = Literal["near_completion_mark", "near_pass_mark", "graders_apart", "full_test"]
"""Why tasks were repeated: a score lay within the spread of the mark that it is held against, the
samples of one grade lay more than a grade apart, or a full test measures how steady a skill is."""
RepeatsMissing = Literal["rehearsal", "switched_off", "no_time", "failed"]
"""Why tasks were not repeated although it could have changed the verdict."""


class TaskTries(Model):
    """One task of the online run, every time that it was done."""

    task_id: TaskId
    grades: tuple[int, ...]
    """What each try counts, the first one first."""
    counted: int
    """Their median, the lower one of two: it is what the score takes."""
    used: tuple[bool, ...]
    """Whether the skill was used in each try."""
    samples: tuple[int, ...] = ()
    """Every grade that a judge gave, of all tries."""


class PassPower(Model):
    """`pass^k`: how likely the skill does a task in each of `k` tries."""

    k: int = Field(ge=1)
    share: float = Field(ge=0, le=1)
    """Mean, over tasks that were tried at least `k` times, of the chance that `k` tries taken from
    them were all done."""


class Confidence(Model):
    """What the score rests on."""

    tasks: int = Field(ge=0)
    tries: int = Field(ge=0)
    """How often they were done online, all together."""
    samples: int = Field(ge=0)
    """Grades that judges gave for that."""
    spread: float = Field(ge=0)
    """Points by which the overall score could well lie lower or higher: half of what the samples
    of its grades leave open, and no less than one grade of one task. 0 in rehearsal, where
    repeating gives the same."""
    could_change: bool = False
    """Whether the verdict lay within that."""
    repeated_because: RepeatCause | None = None
    repeats: int = Field(default=0, ge=0)
    """How often the tasks in question were done again."""
    repeated_tasks: tuple[TaskId, ...] = ()
    not_repeated_because: RepeatsMissing | None = None
    """Where repeating could have changed the verdict, and there was none."""
    by_task: tuple[TaskTries, ...] = ()
    pass_power: tuple[PassPower, ...] = ()
    """In a full test, for each `k` up to the number of tries."""
