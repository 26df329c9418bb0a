"""Sandboxes to test with, as fixtures. A conftest imports those that its tests ask for."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from assay_sandboxes.bubblewrap.host.provider import BubblewrapProvider
from assay_sandboxes.conformance.under_test import REAL_SHELL, ProviderUnderTest, write_skills
from assay_sandboxes.port import Sandbox
from assay_testkit.daytona.double import DaytonaDouble
from assay_testkit.daytona.provider import provider_for
from assay_testkit.servers import private_folder


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    """A folder with one skill in it."""
    return write_skills(tmp_path / "skills")


@pytest.fixture
async def bubblewrap(tmp_path: Path, skills: Path) -> AsyncIterator[ProviderUnderTest]:
    provider = BubblewrapProvider(tmp_path / "state")
    yield ProviderUnderTest(provider, REAL_SHELL, skills)
    await provider.close()


@pytest.fixture
async def double() -> AsyncIterator[DaytonaDouble]:
    """A stand-in for Daytona, with real processes behind it."""
    # Its sandboxes are spoken to over sockets, whose paths must be short.
    with private_folder() as folder:
        async with DaytonaDouble(folder / "double").serving() as serving:
            yield serving


@pytest.fixture
async def daytona(double: DaytonaDouble, skills: Path) -> AsyncIterator[ProviderUnderTest]:
    """The real SDK, talking to the stand-in."""
    provider = provider_for(double)
    yield ProviderUnderTest(provider, REAL_SHELL, skills)
    await provider.close()


@pytest.fixture
async def blocked_sandbox(bubblewrap: ProviderUnderTest) -> AsyncIterator[Sandbox]:
    """A bubblewrap sandbox with a blocked network."""
    async with bubblewrap.open() as sandbox:
        yield sandbox
