"""What a strong model said about skills whose truth is known: each gets its right verdict."""

import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.agents.conftest import files_below
from tests.agents.replaying import replayed

from assay_contracts.reports import Report
from assay_testkit.recordings import Recording, load_recordings
from assay_testkit.variations import told_otherwise

REPOSITORY = Path(__file__).parents[2]
RECORDINGS = {
    name: recording
    for name, recording in load_recordings(REPOSITORY / "tests" / "recordings").items()
    if recording.needs is None or shutil.which(recording.needs)
}
"""Those that can be validated on this machine."""
RETESTED = (
    "broken-report",
    "colour-contrast",
    "csv-analyzer",
    "gamma-slides",
    "handy-helper",
    "house-voice",
    "invoice-total",
    "json-contract-check",
    "length-converter",
    "missing-reference",
    "price-rounding",
    "table-helper",
)
"""One for each kind of truth."""

Validations = Mapping[str, Any]

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def validations(request: pytest.FixtureRequest, open_platform: Callable[..., Any]) -> Validations:
    """Each skill that a chosen test is about, validated, several at once."""
    wanted = {
        str(item.callspec.params["name"])
        for item in request.session.items
        if item.path == request.path and isinstance(item, pytest.Function)
        if "name" in item.fixturenames
    }
    chosen = {name: RECORDINGS[name] for name in sorted(wanted)}
    return replayed(chosen, files_of_all(chosen), open_platform)


@pytest.fixture(scope="module")
def told_otherwise_validations(open_platform: Callable[..., Any]) -> Validations:
    chosen = {name: replace(told_otherwise(RECORDINGS[name]), control=False) for name in RETESTED}
    return replayed(chosen, files_of_all(chosen), open_platform)


def files_of_all(recordings: Mapping[str, Recording]) -> dict[str, dict[str, bytes]]:
    return {name: files_below(REPOSITORY / each.skill) for name, each in recordings.items()}


SHOWS: Mapping[str, Callable[[Report], object]] = {
    "attribution": lambda report: [
        outcome.attribution.kind if outcome.attribution else None
        for outcome in report.runs[0].outcomes
    ],
    "grades": lambda report: [grade.grade for grade in report.runs[0].grades],
    "offline_grades": lambda report: [grade.grade for grade in report.runs[1].grades],
    "defects": lambda report: [defect.program for defect in report.defects],
    "effect": lambda report: report.control.effect if report.control else None,
    "silent": lambda report: report.trigger.silent if report.trigger else None,
    "chosen_instead": lambda report: sorted(
        {skill for each in report.trigger.chosen_instead for skill in each.skills}
        if report.trigger
        else ()
    ),
    "installed": lambda report: [package.name for package in report.runs[0].packages_added],
    "calls": lambda report: sorted(
        {call.destination for run in report.runs for call in run.network_calls if call.counts}
    ),
    "completion": lambda report: report.scores.completion if report.scores else None,
    "trigger": lambda report: report.scores.trigger if report.scores else None,
    "offline": lambda report: report.scores.offline if report.scores else None,
}
"""What a truth can say beside the verdict and its reason, and where a report says it."""


@pytest.mark.parametrize("name", sorted(RECORDINGS))
def test_it_gets_its_right_verdict_for_the_right_reason(
    name: str, validations: Validations
) -> None:
    truth, report = RECORDINGS[name].truth, validations[name].report

    assert report.verdict == truth["verdict"], report.reason
    assert re.search(truth["reason"], report.reason), report.reason
    shown = {key: SHOWS[key](report) for key in truth if key in SHOWS}
    assert shown == {key: truth[key] for key in shown}


@pytest.mark.parametrize("name", RETESTED)
def test_another_model_that_does_the_same_gets_the_same(
    name: str, validations: Validations, told_otherwise_validations: Validations
) -> None:
    first, second = validations[name].report, told_otherwise_validations[name].report

    assert (second.verdict, second.reason, second.scores) == (
        first.verdict,
        first.reason,
        first.scores,
    )
    for shows in ("grades", "attribution", "defects"):
        assert SHOWS[shows](second) == SHOWS[shows](first)


def test_there_are_at_least_sixty_and_every_truth_says_what_is_and_why() -> None:
    assert len(RECORDINGS) >= 60
    assert sum(bool(each.took_place) for each in RECORDINGS.values()) >= 10
    for name, recording in RECORDINGS.items():
        unknown = set(recording.truth) - {"is", "verdict", "reason", *SHOWS}
        assert not unknown, f"{name}: nothing is known of {unknown}"
        assert {"is", "verdict", "reason"} <= set(recording.truth), name
