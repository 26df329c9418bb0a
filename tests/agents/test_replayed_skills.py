"""What a strong model said about skills whose truth is known: each gets its right verdict."""

import asyncio
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from assay_agentkit.models import ModelSettings
from assay_sandboxes.bubblewrap.host.provider import BubblewrapProvider
from assay_testkit.models import running_model_server
from assay_testkit.recordings import load_recordings
from assay_testkit.replay import Replay
from tests.agents.conftest import files_below

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
    replay = Replay(RECORDINGS)
    with running_model_server(replay) as server, tempfile.TemporaryDirectory() as folder:
        settings = ModelSettings(
            model_base_url=server.url,
            model_api_key=SecretStr("none"),
            model_timeout_s=60.0,
            model_max_retries=0,
        )
        provider = BubblewrapProvider(Path(folder) / "sandboxes")

        async def validate_all() -> Validations:
            slots = asyncio.Semaphore(AT_ONCE)

            async def validate(name: str) -> Any:
                recording = RECORDINGS[name]
                platform = open_platform(
                    folder=Path(folder) / name,
                    provider=provider,
                    model=f"openai:{name}",
                    settings=settings,
                    control=recording.control,
                    **recording.truth.get("limits", {}),
                )
                async with slots:
                    return await platform.validate(recording.name, files_below(REPOSITORY / recording.skill))

            async with asyncio.TaskGroup() as group:
                running = {name: group.create_task(validate(name)) for name in sorted(wanted)}
            return {name: task.result() for name, task in running.items()}

        done = asyncio.run(validate_all())
    assert replay.unanswered == []
    return done


@pytest.mark.parametrize("name", sorted(RECORDINGS))
def test_it_gets_its_right_verdict_for_the_right_reason(name: str, validations: Validations) -> None:
    truth, report = RECORDINGS[name].truth, validations[name].report

    assert report.verdict == truth["verdict"], report.reason
    assert re.search(truth["reason"], report.reason), report.reason
