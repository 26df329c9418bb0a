"""What the words of a report must be before they stand beside its numbers."""

import re
from collections.abc import Iterator
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from assay_contracts.grades import is_done
from assay_contracts.reports import Prose, Report
from assay_judge.domain.material import shortened

LONGEST_TEXT: Final = 600
_NUMBER: Final = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*(?![\w])")
_SCALE: Final = re.compile(r"(?:\bout of|\bof|/)\s*(?:100|5)\b")
_NUMBER_WORDS: Final = {
    "two": 2.0, "three": 3.0, "four": 4.0, "five": 5.0, "six": 6.0, "seven": 7.0, "eight": 8.0,
    "nine": 9.0, "ten": 10.0, "eleven": 11.0, "twelve": 12.0,
}  # fmt: skip
_VERDICTS: Final = ("passed", "failed", "inconclusive")
_ROUNDED_TO: Final = (0, 1, 2)


class ProseDraft(BaseModel):
    """The words of the report as the writer gives them."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    summary: str = Field(min_length=1, max_length=500)
    """One line: the verdict and the main reason for it."""
    strengths: tuple[str, ...] = Field(default=(), max_length=6)
    """What worked, each with what shows it."""
    weaknesses: tuple[str, ...] = Field(default=(), max_length=6)
    """What did not work, each with what shows it."""
    recommendations: tuple[str, ...] = Field(default=(), max_length=6)
    """What the author of the skill should do next."""


def as_prose(draft: ProseDraft) -> Prose:
    """The draft in the report's own form: one line each."""
    return Prose(
        summary=_one_line(draft.summary),
        strengths=tuple(map(_one_line, draft.strengths)),
        weaknesses=tuple(map(_one_line, draft.weaknesses)),
        recommendations=tuple(map(_one_line, draft.recommendations)),
    )


def prose_problems(draft: ProseDraft, report: Report) -> list[str]:
    """Numbers that the data does not have, and a verdict that is not the report's."""
    known = known_numbers(report)
    texts = (draft.summary, *draft.strengths, *draft.weaknesses, *draft.recommendations)
    problems = [
        f"The number {said!r} is not in the data; leave it out or use one that is."
        for text in texts
        for said, value in _numbers(_SCALE.sub(" ", text))
        if value not in known
    ]
    said_verdicts = [word for word in _VERDICTS if re.search(rf"\b{word}\b", draft.summary.lower())]
    if said_verdicts and report.verdict not in said_verdicts:
        problems.append(
            f"The summary says {said_verdicts[0]!r}, but the verdict is {report.verdict!r}."
        )
    return problems


def known_numbers(report: Report) -> frozenset[float]:
    """Every number of the data, every number in its texts, and how many of each thing there are."""
    exact = set(_leaves(report.model_dump(mode="json")))
    exact.update(_counts(report))
    return frozenset(exact | {round(value, places) for value in exact for places in _ROUNDED_TO})


def report_material(report: Report) -> dict[str, object]:
    """The report as its writer sees it: the data, with long texts shortened."""
    data = report.model_dump(mode="json", exclude={"prose"})
    return {name: _shorten(part) for name, part in data.items()}


def _shorten(value: object) -> object:
    if isinstance(value, str):
        return shortened(value, LONGEST_TEXT)
    if isinstance(value, dict):
        return {key: _shorten(part) for key, part in value.items()}
    return [_shorten(part) for part in value] if isinstance(value, list) else value


def _counts(report: Report) -> Iterator[float]:
    yield from (float(len(part)) for part in (report.tasks, report.findings, report.runs))
    for run in report.runs:
        yield from (float(len(run.outcomes)), float(run.network_calls_attempted))
        yield float(len(run.packages_added))
        yield float(sum(is_done(grade.grade) for grade in run.grades))
        yield float(sum(bool(outcome.skills_used) for outcome in run.outcomes))
        checks = [check for outcome in run.outcomes for check in outcome.checks]
        passed = sum(check.passed for check in checks)
        yield from (float(len(checks)), float(passed), float(len(checks) - passed))
        yield float(sum(all(c.passed for c in outcome.checks) for outcome in run.outcomes))
        yield float(sum(not all(c.passed for c in outcome.checks) for outcome in run.outcomes))


def _leaves(value: object) -> Iterator[float]:
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, int | float):
        yield float(value)
    elif isinstance(value, str):
        yield from (number for _, number in _numbers(value))
    elif isinstance(value, dict):
        for part in value.values():
            yield from _leaves(part)
    elif isinstance(value, list):
        for part in value:
            yield from _leaves(part)


def _numbers(text: str) -> Iterator[tuple[str, float]]:
    for match in _NUMBER.finditer(text):
        said = match.group()
        try:
            yield said, float(said.replace(",", "."))
        except ValueError:  # a version or a date: 1.2.3
            yield from ((said, float(part)) for part in re.split(r"[.,]", said))
    for word, value in _NUMBER_WORDS.items():
        if re.search(rf"\b{word}\b", text.lower()):
            yield word, value


def _one_line(text: str) -> str:
    return " ".join(text.split())
