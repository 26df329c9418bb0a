"""Sandboxes to test with, as fixtures. A conftest imports those that its tests ask for."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from assay_sandboxes.bubblewrap.host.provider import BubblewrapProvider
from assay_sandboxes.conformance.under_test import REAL, Kit
from assay_sandboxes.port import Sandbox
from assay_testkit.daytona.double import DaytonaDouble, provider_for


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    """A folder with one skill in it."""
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


@pytest.fixture
async def blocked_sandbox(bubblewrap: Kit) -> AsyncIterator[Sandbox]:
    """A bubblewrap sandbox with a blocked network."""
    async with bubblewrap.open() as sandbox:
        yield sandbox
