"""Whether the result of a task came from the skill's programs, or was made in spite of them. Pure.

A program can end well and say what is wrong. An agent that notices works the result out itself, and
the result is right for no merit of the skill. Such a program's result was *set aside*: the files
that were asked for were written by the agent's own steps, after the last run of a program of the
skill, and nothing that these programs said or left behind is in them. Where any of that is not
known, nothing was set aside.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from assay_contracts.runs import TraceStep
from assay_sandbox_runner.domain.attribution import RanProgram

_NUMBER: Final = re.compile(r"(?<![\w.])-?\d+(?:[.,]\d+)*(?![\w])")
_THOUSANDS: Final = re.compile(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_WORD: Final = re.compile(r"[^\W\d_]{4,}|[\u4e00-\u9fff]{2,}")
_PATH: Final = re.compile(r"[\w./-]*[\w-]\.\w{1,5}\b")
_BACKGROUND: Final = re.compile(r"(?<![&>|<])&(?![&>\d])")
_CLOCK_SLACK_S: Final = 0.02
"""File systems stamp with a clock that ticks every few milliseconds."""
_PERCENT: Final = 100
_MOST_DIGITS: Final = 6
_AS_MANY: Final = 2
"""Programs that give more than so many figures for each one in the result gave a choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """What a task left behind, as far as it tells where its result came from."""

    asked_for: frozenset[str]
    """Paths of files that the task's checks or its prompt name and that were made or changed."""
    written: Mapping[str, float]
    """When each file was changed last, in seconds since 1970."""
    texts: Mapping[str, str]
    """What each file says, as far as that was kept."""
    given: str
    """The prompt and what the input files say: repeating it shows nothing."""


def set_aside(steps: Sequence[TraceStep], ran: Sequence[RanProgram], results: Results) -> bool:
    """Whether the result has nothing of what the skill's programs said or left behind."""
    program_steps = frozenset(each.step for each in ran)
    origins = {path: _origin(steps, when) for path, when in results.written.items()}
    own = [path for path in results.asked_for if origins.get(path) is not None]
    if not own or len(own) < len(results.asked_for) or not program_steps:
        return False
    last_run = max(program_steps)
    if any((origins[path] or 0) <= last_run for path in own):
        return False
    if any(_BACKGROUND.search(each.command) for each in ran):
        return False  # a server: what it says, it says to whoever asks it
    left = (text for path, text in results.texts.items() if origins.get(path) in program_steps)
    said = "\n".join((*(steps[number].output for number in program_steps), *left))
    later = "\n".join(step.arguments for step in steps[last_run + 1 :])
    if _takes_up(later, said, ran, results):
        return False
    return _shares_nothing("\n".join(results.texts.get(path, "") for path in own), said, results)


def _origin(steps: Sequence[TraceStep], when: float) -> int | None:
    """The step during which a file was changed; none where the clocks do not tell."""
    begun = [n for n, step in enumerate(steps) if step.at.timestamp() - _CLOCK_SLACK_S <= when]
    if not begun:
        return None
    last = steps[begun[-1]]
    ended = last.at.timestamp() + last.seconds + _CLOCK_SLACK_S
    return begun[-1] if when <= ended else None


def _takes_up(later: str, said: str, ran: Sequence[RanProgram], results: Results) -> bool:
    """Whether the agent went on with what the programs said, or with a file that they were told."""
    known = set(_numbers(results.given))
    if _those_among(set(_numbers(said)) - known, set(_numbers(later))):
        return True
    named = {
        path
        for each in ran
        for path in _PATH.findall(each.command.replace(each.path, ""))
        if path not in results.given and path not in results.asked_for
    }
    return any(path in later for path in named)


def _shares_nothing(result: str, said: str, results: Results) -> bool:
    """Whether both say something new, and nothing that is new in the result is the programs'."""
    known_numbers = set(_numbers(results.given))
    new = set(_numbers(result)) - known_numbers
    offered = set(_numbers(said)) - known_numbers
    if new and offered:
        return _mostly_other(new, offered)
    known_words = set(_words(results.given))
    new_words, offered_words = (set(_words(text)) - known_words for text in (result, said))
    if not (new or new_words) or not (offered or offered_words):
        return False
    return not new_words & offered_words


def _numbers(text: str) -> Iterator[float]:
    for found in _NUMBER.findall(text):
        plain = found.replace(",", "") if _THOUSANDS.fullmatch(found) else found.replace(",", ".")
        if plain.count(".") <= 1:
            yield float(plain)
        else:
            yield from map(float, plain.split("."))


def _mostly_other(new: set[float], offered: set[float]) -> bool:
    """Whether figures are others, with a few alike by chance where there are as many of each."""
    alike = _those_among(new, offered)
    if len(offered) > _AS_MANY * len(new):
        return not alike
    return 2 * len(alike) < len(new) and 2 * len(_those_among(offered, new)) < len(offered)


def _those_among(numbers: set[float], others: set[float]) -> set[float]:
    """Those of the numbers that are among the others, be it rounded or as a percentage."""
    alike = {form for other in others for form in _forms(other)}
    return {
        number
        for number in numbers
        if number in alike or not others.isdisjoint(_rounded(number))
    }


def _forms(number: float) -> Iterator[float]:
    yield from _rounded(number, least=0)
    yield from _rounded(number * _PERCENT, least=0)


def _rounded(number: float, least: int = 1) -> Iterator[float]:
    yield number
    yield from (round(number, digits) for digits in range(least, _MOST_DIGITS))


def _words(text: str) -> Iterator[str]:
    yield from (word.lower() for word in _WORD.findall(text))
