"""How much of what a skill documents was tried in a run, and what came of it."""

from typing import Final, Literal

from pydantic import Field

from assay_contracts.base import Model
from assay_contracts.tasks import TaskId

ItemKind = Literal["command", "code", "script", "reference"]
"""What a SKILL.md tells its reader of: a shell command, a block of code, a program of the bundle, a
file to be read."""
ItemState = Literal["worked", "failed", "blocked", "unclear", "not_tried"]
"""`failed`: it was exercised as documented, nothing was missing, and it did not work. `blocked`:
something was missing, or a limit stood in the way. `unclear`: it was run and shows nothing, as
where its input was made up and may not fit."""
TaskShows = Literal["worked", "failed", "nothing"]
"""What one task shows of what the skill documents."""

MOST_ITEMS: Final = 60
"""That a message lists."""


class CoveredItem(Model):
    """One thing that the skill documents."""

    kind: ItemKind
    what: str = Field(max_length=200)
    """The command, the first line of the code, or the path."""
    line: int | None = Field(default=None, ge=1)
    """Where it stands in SKILL.md."""
    program: str = Field(default="", max_length=200)
    """What it runs: a path in the bundle, or the name of a command."""
    optional: bool = False
    """The skill says that it can do without."""
    state: ItemState
    reason: str = Field(default="", max_length=300)
    """Why it was not tried, or what explains that it did not work."""
    tasks: tuple[TaskId, ...] = ()
    """In which it was tried."""

    @property
    def exercised(self) -> bool:
        """Whether it is known to work or not to work."""
        return self.state in ("worked", "failed")


class Coverage(Model):
    """What of the documented was exercised: computed in code from the bundle and the traces."""

    items: tuple[CoveredItem, ...] = Field(default=(), max_length=MOST_ITEMS)
    """What failed first, then what stood in the way; the rest in the order of the document."""
    total: int = Field(default=0, ge=0)
    """Of all items, those included that are not listed."""
    exercised: int = Field(default=0, ge=0)
    worked: int = Field(default=0, ge=0)
    programs: int = Field(default=0, ge=0)
    """Different programs that the skill brings along or documents, optional ones apart."""
    programs_worked: int = Field(default=0, ge=0)

    @property
    def percent(self) -> int:
        """Share of what is documented that was exercised."""
        return round(100 * self.exercised / self.total) if self.total else 0
