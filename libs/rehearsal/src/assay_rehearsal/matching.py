"""Which skill's description fits a task: how the rehearsal model picks a skill. Pure."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from assay_skillkit.words import content_words

_SHARED_WORDS_NEEDED: Final = 2
_LONG_DESCRIPTION: Final = 12
"""Words beyond which a description pays for its breadth."""


def best_match(task: str, descriptions: Mapping[str, str]) -> str | None:
    """The key of the description that fits the task best, or None when none fits.

    Rare words weigh more than common ones, and a description that lists everything under the sun
    weighs less for each word. Ties go to the first key in order, so the result is deterministic.
    """
    wanted = content_words(task)
    offered = {key: content_words(text) for key, text in descriptions.items()}
    scored = [
        (_fit(wanted, words, tuple(offered.values())), key)
        for key, words in sorted(offered.items())
        if len(wanted & words) >= _SHARED_WORDS_NEEDED
    ]
    if not scored:
        return None
    best = max(score for score, _ in scored)
    return next(key for score, key in scored if score == best)


def _fit(
    wanted: frozenset[str], words: frozenset[str], everything: Sequence[frozenset[str]]
) -> float:
    weight = sum(
        math.log(1 + len(everything) / sum(word in other for other in everything))
        for word in sorted(wanted & words)
    )
    return weight / math.sqrt(max(len(words), _LONG_DESCRIPTION))
