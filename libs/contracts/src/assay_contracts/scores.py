"""The score: its dimensions as one table, and what each of them has to reach.

Who computes or shows scores loops over `DIMENSIONS`; nobody else lists them. A new dimension is a
field of `Scores` and a row here, its measure in the scorer's `domain/scoring.py`, and its words for
the admin page.
"""

from typing import Final

from pydantic import Field

from assay_contracts.base import Model

ONLINE_PASS_MARK: Final = 50.0
"""Completion from which the online run has passed; below it there is no offline run."""
OFFLINE_PASS_MARK: Final = 70.0
"""From here on a skill is fit to work offline."""
OVERALL_PASS_MARK: Final = 70.0
"""A validation passes from here on, if the approved skills still work too."""


class ScoreDimension(Model):
    """One row of the table."""

    name: str
    """Its field of `Scores`, and what every form of a report calls it."""
    weight: int = Field(gt=0, le=100)
    """Percent of the overall score."""
    pass_mark: float | None
    """None when it has no mark of its own."""
    absent: str = "not run"
    """How a report says that it was not measured."""
    note_when_low: str = ""
    """What a report says beside a score below the mark; the mark follows it."""


class Scores(Model):
    """Each 0 to 100, one decimal; computed in code, never by a model."""

    completion: float
    """Mean of the grades of the online run, as points."""
    trigger: float
    """Share of the tasks of the online run in whose trace the skill was used."""
    offline: float | None
    """From how many network calls the offline run attempted, and how many tasks it lost.

    None when there was no offline run because the online run failed; it then adds nothing."""
    overall: float

    def of(self, dimension: ScoreDimension) -> float | None:
        """The score in that dimension; None when it was not measured."""
        value: float | None = getattr(self, dimension.name)
        return value


DIMENSIONS: Final = (
    ScoreDimension(name="completion", weight=50, pass_mark=ONLINE_PASS_MARK),
    ScoreDimension(name="trigger", weight=35, pass_mark=None),
    ScoreDimension(
        name="offline",
        weight=15,
        pass_mark=OFFLINE_PASS_MARK,
        note_when_low="fit to work offline from",
    ),
)
"""In the order in which people are shown them; the weights make 100."""
