"""What a strong model said about skills whose truth is known: each gets its right verdict."""

import asyncio
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from tests.agents.conftest import files_below

from assay_agentkit.models import ModelSettings
from assay_contracts.reports import Report
from assay_sandboxes.bubblewrap.host.provider import BubblewrapProvider
from assay_testkit.models import running_model_server
from assay_testkit.recordings import Recording, load_recordings
from assay_testkit.replay import Replay

REPOSITORY = Path(__file__).parents[2]
RECORDINGS = load_recordings(REPOSITORY / "tests" / "recordings")
AT_ONCE = 4

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
    return replayed({name: RECORDINGS[name] for name in sorted(wanted)}, open_platform)


def replayed(recordings: Mapping[str, Recording], open_platform: Callable[..., Any]) -> Validations:
    """Each validated by the model that its recording makes, several at once."""
    replay = Replay(recordings)
    with running_model_server(replay) as server, tempfile.TemporaryDirectory() as folder:
        settings = ModelSettings(
            model_base_url=server.url,
            model_api_key=SecretStr("none"),
            model_timeout_s=60.0,
            model_max_retries=0,
        )
        provider = BubblewrapProvider(Path(folder) / "sandboxes")
        slots = asyncio.Semaphore(AT_ONCE)

        async def validate(name: str, recording: Recording) -> Any:
            platform = open_platform(
                folder=Path(folder) / name,
                provider=provider,
                model=f"openai:{name}",
                settings=settings,
                control=recording.control,
                # Recordings may have none; what a real planner gives is tried.
                references=all("reference" in task.planned for task in recording.tasks),
                **recording.limits,
            )
            async with slots:
                return await platform.validate(
                    recording.name, files_below(REPOSITORY / recording.skill)
                )

        async def validate_all() -> Validations:
            async with asyncio.TaskGroup() as group:
                running = {
                    name: group.create_task(validate(name, recording))
                    for name, recording in recordings.items()
                }
            return {name: task.result() for name, task in running.items()}

        done = asyncio.run(validate_all())
    assert replay.unanswered == []
    return done


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


def test_every_truth_says_what_is_and_why() -> None:
    for name, recording in RECORDINGS.items():
        unknown = set(recording.truth) - {"is", "verdict", "reason", *SHOWS}
        assert not unknown, f"{name}: nothing is known of {unknown}"
        assert {"is", "verdict", "reason"} <= set(recording.truth), name
