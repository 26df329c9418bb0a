"""Sandboxes to test with."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from assay_sandbox_runner.adapters.bubblewrap import BubblewrapProvider
from assay_sandbox_runner.adapters.fake import FakeProvider
from assay_sandbox_runner.conformance import PRETENDED, REAL, Kit
from assay_sandbox_runner.ports import Sandbox
from assay_testkit.daytona.double import DaytonaDouble, provider_for


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    folder = tmp_path / "skills"
    (folder / "greeter").mkdir(parents=True)
    (folder / "greeter" / "SKILL.md").write_text("# Greeter\n")
    return folder


@pytest.fixture
async def bubblewrap(tmp_path: Path, skills: Path) -> AsyncIterator[Kit]:
    provider = BubblewrapProvider(tmp_path / "state")
    yield Kit(provider, REAL, skills)
    await provider.close()


@pytest.fixture
async def double(tmp_path: Path) -> AsyncIterator[DaytonaDouble]:
    """A stand-in for Daytona, with real processes behind it."""
    async with DaytonaDouble(tmp_path / "double").serving() as serving:
        yield serving


@pytest.fixture
async def daytona(double: DaytonaDouble, skills: Path) -> AsyncIterator[Kit]:
    """The real SDK, talking to the stand-in."""
    provider = provider_for(double)
    yield Kit(provider, REAL, skills)
    await provider.close()


@pytest.fixture(params=["fake", "bubblewrap", "daytona"])
def kit(request: pytest.FixtureRequest, skills: Path) -> Kit:
    if request.param == "fake":
        return Kit(FakeProvider(), PRETENDED, skills)
    given: Kit = request.getfixturevalue(request.param)
    return given


@pytest.fixture
async def cell(bubblewrap: Kit) -> AsyncIterator[Sandbox]:
    """A bubblewrap sandbox with a blocked network."""
    async with bubblewrap.open() as sandbox:
        yield sandbox
