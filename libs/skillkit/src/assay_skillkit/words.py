"""Comparing texts by their words: what a text is about, and how much it copies from another.

Pure. Works on stems of content words; runs of Chinese, Japanese or Korean count by pairs of signs.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Final

import snowballstemmer  # type: ignore[import-untyped]  # it ships no types

_WORD: Final = re.compile(r"[^\W_]+")
_CJK: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_BRITISH: Final = re.compile(r"(?<=[iy])s(?=e|ing|ation)")
"""The sign that British English writes for the `z` of `summarize` and `analyze`."""
_STEMS_REMEMBERED: Final = 20_000
_LONGEST_STEMMED: Final = 40
"""Letters; nothing longer is a word of English."""
_MOST_WORDS: Final = 10_000
"""Distinct words of one text that are stemmed: skills bring the texts, and stemming takes time."""
_SHORTEST_WORD: Final = 3

_STOP_WORDS: Final = """
about after all also and any are asks based been before being below both but can case cases come
comes could does doing done each every file files folder for from get gets give given gives good
had has have help helps here how input into its just keep keeps kind like made make makes many
may might more most must need needed needs new not now off one only onto other our out output
over own please put run running runs same save script scripts see set should show shows skill
skills some such take takes task tasks than that the their them then there these they thing
things this those three through too tool tools two under until use used useful user users uses
using various very want wanted wants was way well were what when where whether which while who
will with within without work working works would write writes you your
"""
STOP_WORDS: Final = frozenset(_STOP_WORDS.split())


@dataclass(frozen=True, slots=True)
class Overlap:
    """How much of a text is taken over from a source."""

    longest_run: float
    """Most words in a row that both have; a pair of signs counts as half a word."""
    shared_trigrams: float
    """Share, 0 to 1, of the text's word triples that the source has too."""


def stem(word: str) -> str:
    """Snowball's English stem, the same for `analyse`, `analyze`, `analyzer` and `analysis`."""
    return _stem(word) if len(word) <= _LONGEST_STEMMED else word


@lru_cache(maxsize=_STEMS_REMEMBERED)
def _stem(word: str) -> str:
    american = _BRITISH.sub("z", word)
    # A stemmer works on a word that it holds, so that threads cannot share one.
    stemmed: str = snowballstemmer.stemmer("english").stemWord(american)
    return stemmed.removesuffix("i").replace("z", "s")


def plain_words(text: str) -> tuple[str, ...]:
    """Every word, in lower case and compatibility form; signs without spaces come in pairs."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    words: list[str] = []
    for match in _WORD.finditer(folded):
        position = 0
        for run in _CJK.finditer(match.group()):
            words.append(match.group()[position : run.start()])
            signs = run.group()
            words.extend(signs[i : i + 2] for i in range(max(1, len(signs) - 1)))
            position = run.end()
        words.append(match.group()[position:])
    return tuple(word for word in words if word)


def content_words(text: str) -> frozenset[str]:
    """Stems of the words that say what the text is about; of a very long text, of its beginning."""
    distinct = dict.fromkeys(filter(_says_something, plain_words(text)))
    return frozenset(map(stem, islice(distinct, _MOST_WORDS)))


def _says_something(word: str) -> bool:
    long_enough = len(word) >= _SHORTEST_WORD or _CJK.fullmatch(word) is not None
    return long_enough and word not in STOP_WORDS and not word.isdigit()


def overlap(text: str, source: str) -> Overlap:
    """How much of `text` is copied from `source`, word by word."""
    ours, theirs = plain_words(text), plain_words(source)
    return Overlap(
        longest_run=_longest_common_run(ours, theirs),
        shared_trigrams=_shared_trigrams(ours, theirs),
    )


def _longest_common_run(ours: Sequence[str], theirs: Sequence[str]) -> float:
    longest = 0.0
    previous = [0.0] * (len(theirs) + 1)
    for word in ours:
        weight = 0.5 if _CJK.fullmatch(word) else 1.0
        current = [0.0] * (len(theirs) + 1)
        for index, other in enumerate(theirs):
            if word == other:
                current[index + 1] = previous[index] + weight
        longest = max(longest, *current)
        previous = current
    return longest


def _shared_trigrams(ours: Sequence[str], theirs: Sequence[str]) -> float:
    mine = [tuple(ours[i : i + 3]) for i in range(len(ours) - 2)]
    known = {tuple(theirs[i : i + 3]) for i in range(len(theirs) - 2)}
    return sum(trigram in known for trigram in mine) / len(mine) if mine else 0.0
