"""Skills whose truth is known: every one gets its right verdict, and the same one twice."""

import asyncio
import shutil
import tempfile
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

SKILLS = Path(__file__).parents[1] / "skills"
TRUTH: dict[str, Any] = tomllib.loads((SKILLS / "truth.toml").read_text())
LIBRARY = tuple(TRUTH.pop("library"))
AT_ONCE = 4
TWICE = 2

Validations = Mapping[str, list[Any]]

pytestmark = pytest.mark.timeout(600)


def truth_of(name: str) -> dict[str, Any]:
    """What is true of the skill on this machine."""
    truth: dict[str, Any] = TRUTH[name]
    if "needs" in truth and shutil.which(truth["needs"]) is None:
        print(f"{truth['needs']} is not on this machine: another truth applies")  # noqa: T201
        return {"is": f"cannot run here: no {truth['needs']}", **truth["without"]}
    return truth


@pytest.fixture(scope="module")
def validations(request: pytest.FixtureRequest, open_platform: Callable[..., Any]) -> Validations:
    """Each skill that a chosen test is about, validated twice, several at once."""
    wanted = {
        name
        for item in request.session.items
        if item.path == request.path and isinstance(item, pytest.Function)
        for name in _named(item)
    }

    async def validate_all() -> Validations:
        slots = asyncio.Semaphore(AT_ONCE)

        async def validate(name: str) -> Any:
            with tempfile.TemporaryDirectory(prefix="assay-labelled-") as folder:
                platform = open_platform(
                    folder=Path(folder),
                    library=LIBRARY,
                    command_seconds=TRUTH[name].get("command_seconds", 60.0),
                )
                async with slots:
                    return await platform.validate(name)

        async with asyncio.TaskGroup() as group:
            running = {
                name: [group.create_task(validate(name)) for _ in range(TWICE)]
                for name in sorted(wanted)
            }
        return {name: [task.result() for task in tasks] for name, tasks in running.items()}

    return asyncio.run(validate_all())


def _named(item: pytest.Function) -> set[str]:
    if "name" not in item.fixturenames:
        return set()
    name = str(item.callspec.params["name"])
    return {name, TRUTH[name].get("twin", name)}


def test_every_skill_has_its_truth_and_the_other_way_round() -> None:
    folders = {path.name for path in SKILLS.iterdir() if path.is_dir()}
    assert folders == set(TRUTH)
    assert len(folders) >= 24


@pytest.mark.parametrize("name", sorted(TRUTH))
def test_it_gets_its_right_verdict(name: str, validations: Validations) -> None:
    truth = truth_of(name)
    report = validations[name][0].report

    assert report.verdict == truth["verdict"], report.reason
    assert (report.scores is None) == (report.verdict == "inconclusive")
    for dimension in ("completion", "trigger", "offline"):
        score = getattr(report.scores, dimension, None)
        if dimension in truth:
            least, most = truth[dimension]
            assert least <= score <= most, f"{dimension} of a skill that {truth['is']}"
        else:
            assert score is None


@pytest.mark.parametrize("name", sorted(TRUTH))
def test_it_is_judged_alike_every_time(name: str, validations: Validations) -> None:
    first, second = (validation.lasting() for validation in validations[name])

    assert first == second


@pytest.mark.parametrize("name", sorted(n for n, truth in TRUTH.items() if "twin" in truth))
def test_words_change_no_number(name: str, validations: Validations) -> None:
    ours, twin = validations[name][0].report, validations[TRUTH[name]["twin"]][0].report

    assert ours.scores == twin.scores
    assert ours.verdict == twin.verdict
    assert [[grade.grade for grade in run.grades] for run in ours.runs] == [
        [grade.grade for grade in run.grades] for run in twin.runs
    ]


@pytest.mark.parametrize("name", ["kind-letters"])
def test_the_report_says_how_little_can_be_told_of_instructions(
    name: str, validations: Validations
) -> None:
    validated = validations[name][0]

    assert "No LLM took part" in validated.markdown
    assert validated.report.prose is not None
    assert any(
        "documents nothing that could be run" in line for line in validated.report.prose.weaknesses
    )


@pytest.mark.parametrize("name", ["length-converter"])
def test_a_declared_dependency_is_installed_once_and_shown(
    name: str, validations: Validations
) -> None:
    online, offline = validations[name][0].report.runs

    assert [package.name for package in online.packages_added] == ["rulerwords"]
    assert [each.failure for each in online.installations] == [None]
    assert online.installations[0].declared_in == ("requirements.txt",)
    assert online.network_calls == ()
    assert offline.packages_added == ()
