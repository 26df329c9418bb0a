"""Validates skills with the model at an address, and keeps what it said as recordings.

    python -m tests.agents.record http://127.0.0.1:18777/v1 FOLDER_OF_A_SKILL...

Each recording goes to `tests/recordings`, where its truth has to be added by hand.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

from pydantic import SecretStr
from tests.agents.conftest import Platform, files_below

from assay_agentkit.models import ModelSettings
from assay_testkit.models import running_model_server
from assay_testkit.recorder import Recorder
from assay_testkit.toml_text import recording_text

RECORDINGS = Path(__file__).parents[1] / "recordings"
HOURS = 3600.0


async def record(upstream: str, skill: Path, folder: Path) -> None:
    recorder = Recorder(upstream, skill.name)
    with running_model_server(recorder) as server:
        settings = ModelSettings(
            model_base_url=server.url, model_api_key=SecretStr("none"), model_timeout_s=HOURS
        )
        platform = Platform(
            folder=folder,
            model=f"openai:{skill.name}",
            settings=settings,
            control=True,
            judge_seconds=HOURS,
            judge_model_calls=40,
            task_seconds=HOURS,
            run_seconds=HOURS,
            task_model_calls=25,
        )
        validated = await platform.validate(skill.name, files_below(skill))
    report = validated.report
    print(f"{skill.name}: {report.verdict}: {report.reason}")  # noqa: T201
    recorded = {"skill": skill.as_posix(), "control": True, **recorder.recorded()}
    (RECORDINGS / f"{skill.name}.toml").write_text(recording_text(recorded))


async def main(upstream: str, *skills: str) -> None:
    with tempfile.TemporaryDirectory(prefix="assay-record-") as folder:
        async with asyncio.TaskGroup() as group:
            for skill in skills:
                group.create_task(record(upstream, Path(skill), Path(folder) / Path(skill).name))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
