"""Sandboxes to test with."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from assay_sandbox_runner.adapters.bubblewrap import BubblewrapProvider
from assay_sandbox_runner.adapters.fake import FakeProvider
from assay_sandbox_runner.conformance import PRETENDED, REAL, Kit
from assay_sandbox_runner.ports import Sandbox


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    folder = tmp_path / "skills"
    (folder / "greeter").mkdir(parents=True)
    (folder / "greeter" / "SKILL.md").write_text("# Greeter\n")
    return folder


@pytest.fixture(params=["fake", "bubblewrap"])
def kit(request: pytest.FixtureRequest, tmp_path: Path, skills: Path) -> Kit:
    if request.param == "fake":
        return Kit(FakeProvider(), PRETENDED, skills)
    return Kit(BubblewrapProvider(tmp_path / "state"), REAL, skills)


@pytest.fixture
def bubblewrap(tmp_path: Path, skills: Path) -> Kit:
    return Kit(BubblewrapProvider(tmp_path / "state"), REAL, skills)


@pytest.fixture
async def cell(bubblewrap: Kit) -> AsyncIterator[Sandbox]:
    """A bubblewrap sandbox with a blocked network."""
    async with bubblewrap.open() as sandbox:
        yield sandbox
