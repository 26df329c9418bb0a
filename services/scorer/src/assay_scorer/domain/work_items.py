"""Work that a validation waits for."""

from typing import Literal, cast

from assay_contracts.base import Lane, Model
from assay_contracts.validations import ProgressStep

WorkKind = (
    ProgressStep
    | Literal[
        "regression_grading",
        "mending_run",
        "mending_grading",
        "control_run",
        "control_grading",
        "repeat_run",
        "repeat_grading",
    ]
)


class WorkItem(Model):
    """Work that was asked for and is not answered yet."""

    what: WorkKind
    skill: str | None = None
    """The skill that is tested again."""
    number: int | None = None
    """Which repeat it is, from 1."""
    attempt: int = 1
    """Each time it is asked for again is a new attempt."""
    lane: Lane = "shared"
    failures: int = 0
    """Failed attempts that count against its budget."""

    @property
    def is_control(self) -> bool:
        """Whether nothing waits for it."""
        return self.what in ("control_run", "control_grading")

    @property
    def is_repeat(self) -> bool:
        return self.what in ("repeat_run", "repeat_grading")

    @property
    def key(self) -> str:
        about = self.skill if self.number is None else self.number
        return self.what if about is None else f"{self.what}.{about}"


def item_of(key: str) -> WorkItem:
    """The work item of that key, as far as the key tells."""
    what, _, about = key.partition(".")
    kind = cast("WorkKind", what)
    if kind in ("repeat_run", "repeat_grading"):
        return WorkItem(what=kind, number=int(about))
    return WorkItem(what=kind, skill=about or None)
