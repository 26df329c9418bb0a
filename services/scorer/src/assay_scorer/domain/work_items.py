"""Work that a validation waits for."""

from typing import Literal

from assay_contracts.base import Lane, Model
from assay_contracts.validations import ProgressStep

WorkKind = ProgressStep | Literal["regression_grading", "mending_run", "mending_grading"]


class WorkItem(Model):
    """Work that was asked for and is not answered yet."""

    what: WorkKind
    skill: str | None = None
    """The skill that is tested again."""
    attempt: int = 1
    """Each time it is asked for again is a new attempt."""
    lane: Lane = "shared"
    failures: int = 0
    """Failed attempts that count against its budget."""

    @property
    def key(self) -> str:
        return self.what if self.skill is None else f"{self.what}.{self.skill}"
