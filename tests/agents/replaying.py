"""Validations by the models that recordings make: real client, real agents, real sandboxes."""

import asyncio
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from assay_agentkit.models import ModelSettings
from assay_sandboxes.bubblewrap.host.provider import BubblewrapProvider
from assay_testkit.models import running_model_server
from assay_testkit.recordings import Recording
from assay_testkit.replay import Replay

AT_ONCE = 4


def replayed(
    recordings: Mapping[str, Recording],
    files: Mapping[str, Mapping[str, bytes]],
    open_platform: Callable[..., Any],
) -> Mapping[str, Any]:
    """Each skill validated by the model that its recording makes, several at once.

    Args:
        recordings: By the name that the model goes by.
        files: The skill's files, by the same name.
        open_platform: Puts the platform together.
    """
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
                return await platform.validate(recording.name, files[name])

        async def validate_all() -> Mapping[str, Any]:
            async with asyncio.TaskGroup() as group:
                running = {
                    name: group.create_task(validate(name, recording))
                    for name, recording in recordings.items()
                }
            return {name: task.result() for name, task in running.items()}

        done = asyncio.run(validate_all())
    assert replay.unanswered == []
    return done
