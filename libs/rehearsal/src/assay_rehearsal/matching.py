"""Which skill's description fits a task: how the rehearsal model picks a skill. Pure."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from assay_rehearsal.disclaimers import without_disclaimers
from assay_skillkit.words import content_words, plain_words, stem

_SHARED_WORDS_NEEDED: Final = 2
_LONG_DESCRIPTION: Final = 12
"""Words beyond which a description pays for its breadth."""
_PAIR_WEIGHT: Final = 0.5
"""What two words in a row that both have weigh, beside the words themselves."""


@dataclass(frozen=True, slots=True)
class _Text:
    words: frozenset[str]
    pairs: frozenset[tuple[str, str]]


def best_match(task: str, descriptions: Mapping[str, str]) -> str | None:
    """The key of the description that fits the task best, or None when none fits.

    Rare words weigh more than common ones, words that stand together weigh more than words apart,
    and a description that lists everything under the sun weighs less for each word. What it says it
    is not for counts for nothing. Ties go to the first key in order, so the result is
    deterministic.
    """
    wanted = _read(task)
    offered = {key: _read(without_disclaimers(text)) for key, text in sorted(descriptions.items())}
    rarity = _Rarity(text.words for text in offered.values())
    scored = {
        key: rarity.fit(wanted, text)
        for key, text in offered.items()
        if len(wanted.words & text.words) >= _SHARED_WORDS_NEEDED
    }
    return max(scored, key=lambda key: scored[key]) if scored else None


def _read(text: str) -> _Text:
    words = content_words(text)
    stems = [found for word in plain_words(text) if (found := stem(word)) in words]
    return _Text(words, frozenset(pairwise(stems)))


class _Rarity:
    """How much a word tells, by how many descriptions have it."""

    def __init__(self, texts: Iterable[frozenset[str]]) -> None:
        known = list(texts)
        self._total = len(known)
        self._with = Counter(word for words in known for word in words)

    def fit(self, wanted: _Text, offered: _Text) -> float:
        shared = sum(map(self._weight, sorted(wanted.words & offered.words)))
        together = sum(
            self._weight(first) + self._weight(second)
            for first, second in sorted(wanted.pairs & offered.pairs)
        )
        length = max(len(offered.words), _LONG_DESCRIPTION)
        return (shared + _PAIR_WEIGHT * together) / math.sqrt(length)

    def _weight(self, word: str) -> float:
        return math.log(1 + self._total / self._with[word])
