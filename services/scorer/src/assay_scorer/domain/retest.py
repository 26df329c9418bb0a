"""What is known of an attempt to mend an environment: what was installed, and who was tested."""

from datetime import datetime
from typing import Literal

from assay_contracts.base import Model, ModelUse
from assay_contracts.grades import RunGraded
from assay_contracts.runs import Package, RunFinished

MendingOutcome = Literal["mended", "undone"]


class Retest(Model):
    """A skill tested once more, in the environment that is to be mended."""

    skill: str
    """The name of an approved skill, or of the one under test."""
    run: RunFinished | None = None
    graded: RunGraded | None = None

    @property
    def is_known(self) -> bool:
        """Whether it is known how the skill fares."""
        return self.graded is not None

    @property
    def models(self) -> tuple[ModelUse, ...]:
        uses = (self.run.model if self.run else None, self.graded.model if self.graded else None)
        return tuple(use for use in uses if use is not None)


class Mending(Model):
    """One attempt to make an environment in which the skill under test and the others work."""

    installs: tuple[Package, ...]
    """What is installed instead of what broke skills."""
    broken: tuple[str, ...]
    """Each skill that was broken, with its tasks and the packages that changed."""
    snapshot: str | None = None
    """The environment with these packages, while it is tried and if it helps."""
    snapshot_expires_at: datetime | None = None
    retests: tuple[Retest, ...] = ()
    outcome: MendingOutcome | None = None
    detail: str = ""
    """Why it did not help."""
    models: tuple[ModelUse, ...] = ()
    """What testing the approved skills had cost before it helped."""

    @property
    def costs(self) -> tuple[ModelUse, ...]:
        """What models have cost that took part in it, and in what it takes the place of."""
        return (*self.models, *(use for each in self.retests for use in each.models))
