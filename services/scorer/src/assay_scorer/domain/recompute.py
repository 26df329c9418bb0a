"""A score once more, from the grades and traces that are stored."""

from assay_contracts.base import Model
from assay_contracts.validations import Scores
from assay_scorer.domain import scoring
from assay_scorer.domain.validation import Validation


class Difference(Model):
    """A stored score that is not what its grades and traces give."""

    validation: Validation
    recomputed: Scores | None


def recomputed(validation: Validation) -> Scores | None:
    """What the stored grades and traces give; None where no verdict rests on them."""
    if validation.verdict in (None, "inconclusive"):
        return None
    if validation.online is None or validation.online_graded is None:
        return None
    offline = None
    if validation.offline is not None:
        offline = scoring.offline(validation.offline.network_calls_attempted)
    return scoring.combine(
        scoring.completion(validation.online_graded.grades),
        scoring.trigger(validation.online.outcomes, validation.skill_name),
        offline,
    )


def difference(validation: Validation) -> Difference | None:
    """None where what is stored is right."""
    again = recomputed(validation)
    if again == validation.scores:
        return None
    return Difference(validation=validation, recomputed=again)
