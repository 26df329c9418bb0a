"""Which skills could be taken for one another, by their words alone. Pure, and pair by pair.

No model is asked: a description that fits the stored tasks of an approved skill clearly better than
that skill's own is a *rival*. Others that come or go cannot change what holds for a pair.
"""

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from assay_contracts.tasks import TaskId
from assay_scorer.domain.environment import ApprovedSkill
from assay_skillkit.words import content_words, plain_words

SHARED_WORDS: Final = 3
"""Content words that a description must share with a task before it says anything."""
CLEARLY: Final = 2.0
"""Shared words, of a description that is not over-long, by which it must fit better."""
_SPACES_OF_ONE_WORD: Final = 2
_REMEMBERED: Final = 4_000
"""Texts whose words are remembered: every description is held against every stored task."""
LONG_DESCRIPTION: Final = 12
"""Words beyond which a description pays for its breadth."""


def fit(prompt: str, description: str) -> float:
    """How well the description fits the task, in shared words; 0 where it says too little."""
    words = _content(description)
    shared = len(_content(prompt) & words)
    if shared < SHARED_WORDS:
        return 0.0
    return shared / math.sqrt(max(len(words), LONG_DESCRIPTION) / LONG_DESCRIPTION)


def tasks_fitted(skill: ApprovedSkill, description: str) -> tuple[TaskId, ...]:
    """The stored tasks that this description fits at least as well as the skill's own."""
    return tuple(
        task.task_id
        for task in skill.tasks
        if (found := fit(task.prompt, description)) and found >= fit(task.prompt, skill.description)
    )


def is_rival(skill: ApprovedSkill, name: str, description: str) -> bool:
    """Whether agents may well take the skill of that name for this one.

    It fits a stored task clearly better, or one of the two speaks of the other by its name.
    """
    if _names(description, skill.name) or _names(skill.description, name):
        return True
    return any(
        fit(task.prompt, description) >= fit(task.prompt, skill.description) + CLEARLY
        for task in skill.tasks
    )


def rivals(skill: ApprovedSkill, others: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Those of the others, by name and description, that are rivals of this skill; in order."""
    return tuple(
        sorted(other for other in others if other[0] != skill.name and is_rival(skill, *other))
    )


def _names(text: str, name: str) -> bool:
    """Whether the text speaks of a skill by its name, which is more than one everyday word."""
    wanted = _spaced(name)
    return wanted.count(" ") > _SPACES_OF_ONE_WORD and wanted in _spaced(text)


@lru_cache(maxsize=_REMEMBERED)
def _content(text: str) -> frozenset[str]:
    return content_words(text)


@lru_cache(maxsize=_REMEMBERED)
def _spaced(text: str) -> str:
    """Its plain words with a space around each."""
    return f" {' '.join(plain_words(text))} "
