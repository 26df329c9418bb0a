"""Whether the result of a task came from the skill's programs, or was made in spite of them. Pure.

A program can end well and say what is wrong. An agent that notices works the result out itself, and
the result is right for no merit of the skill. Such a program's result was *set aside*: the files
that were asked for were written by the agent's own steps, after the last run of a program of the
skill, and for what these programs gave figures, or should have by the SKILL.md, others are in them.
Where any of that is not known, nothing was set aside.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from assay_contracts.runs import TraceStep
from assay_sandbox_runner.domain.attribution import RanProgram

_NUMBER: Final = re.compile(r"(?<![\w.])-?\d+(?:[.,]\d+)*(?![\w])")
_THOUSANDS: Final = re.compile(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_LABELLED: Final = re.compile(r"([^\W\d_]{2,})[^\w\n]{1,20}(?=\d)")
_PATH: Final = re.compile(r"[\w./-]*[\w-]\.\w{1,5}\b")
_BACKGROUND: Final = re.compile(r"(?<![&>|<])&(?![&>\d])")
_CLOCK_SLACK_S: Final = 0.02
"""File systems stamp with a clock that ticks every few milliseconds."""
_PERCENT: Final = 100
_TEN: Final = 10
"""Smaller ones stand in every program."""
_MOST_DIGITS: Final = 6
_AS_MANY: Final = 2
"""A program that gives more figures than so many for each one in the result offers a choice."""


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
    manual: str = ""
    """The text of the SKILL.md, which may show what its programs are to give."""


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
    return _contradicts("\n".join(results.texts.get(path, "") for path in own), said, results)


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
    telling = {
        n for n in _numbers(said) if n not in known and not (n.is_integer() and abs(n) < _TEN)
    }
    if _those_among(telling, set(_numbers(later))):
        return True
    named = {
        path
        for each in ran
        for path in _PATH.findall(each.command.replace(each.path, ""))
        if path not in results.given and path not in results.asked_for
    }
    return any(path in later for path in named)


def _contradicts(result: str, said: str, results: Results) -> bool:
    """Whether both give figures for the same things, and none of them is the same.

    Words alone contradict nothing: a program that lays out a project, lists what there is to choose
    from or checks what was written says other things than the result, and rightly.
    """
    known = set(_numbers(results.given))
    new, offered = set(_numbers(result)) - known, set(_numbers(said)) - known
    labels, their_labels = _labels(result), _labels(said)
    if not new:
        return False
    if not offered:
        promised = (labels & _labels(results.manual)) - _labels(results.given)
        return bool(promised) and bool(said.strip()) and promised.isdisjoint(their_labels)
    if not _mostly_other(new, offered):
        return False
    return bool(labels & their_labels) or not (labels or their_labels)


def _mostly_other(new: set[float], offered: set[float]) -> bool:
    """Whether the figures are others; where there are as many of each, a few are so by chance."""
    taken = _those_among(new, offered)
    if len(offered) > _AS_MANY * len(new):
        return not taken
    return 2 * len(taken) < len(new) and 2 * len(_those_among(offered, new)) < len(offered)


def _labels(text: str) -> frozenset[str]:
    """What figures are given for: the word before each of them on its line."""
    return frozenset(match[1].lower() for match in _LABELLED.finditer(text))


def _numbers(text: str) -> Iterator[float]:
    for found in _NUMBER.findall(text):
        plain = found.replace(",", "") if _THOUSANDS.fullmatch(found) else found.replace(",", ".")
        if plain.count(".") <= 1:
            yield float(plain)
        else:
            yield from map(float, plain.split("."))


def _those_among(numbers: set[float], others: set[float]) -> set[float]:
    """Those of the numbers that are among the others, be it rounded or as a percentage."""
    alike = {form for other in others for form in _forms(other)}
    return {
        number for number in numbers if number in alike or not others.isdisjoint(_rounded(number))
    }


def _forms(number: float) -> Iterator[float]:
    yield from _rounded(number, least=0)
    if abs(number) < 1:
        yield from _rounded(number * _PERCENT, least=0)


def _rounded(number: float, least: int = 1) -> Iterator[float]:
    yield number
    yield from (round(number, digits) for digits in range(least, _MOST_DIGITS))
