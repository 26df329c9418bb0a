"""A score once more, from the grades and traces that are stored."""

from assay_contracts.base import Model
from assay_contracts.scores import Scores
from assay_scorer.domain.validation import Validation


class Difference(Model):
    """A stored score that is not what its grades and traces give."""

    validation: Validation
    recomputed: Scores | None


def recomputed(validation: Validation) -> Scores | None:
    """What the stored grades and traces give; None where no verdict rests on them."""
    if validation.verdict in (None, "inconclusive"):
        return None
    return validation.measured


def difference(validation: Validation) -> Difference | None:
    """None where what is stored is right."""
    again = recomputed(validation)
    if again == validation.scores:
        return None
    return Difference(validation=validation, recomputed=again)
