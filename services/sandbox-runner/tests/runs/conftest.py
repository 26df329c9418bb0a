"""One provider of real sandboxes for the tests of a file, so that its launcher starts but once."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay_sandboxes.bubblewrap.host.provider import BubblewrapProvider
from assay_testkit.runner import Runner


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BubblewrapProvider]:
    provider = BubblewrapProvider(tmp_path_factory.mktemp("sandboxes"))
    yield provider
    asyncio.run(provider.close())


@pytest.fixture
def runner(provider: BubblewrapProvider, tmp_path: Path) -> Runner:
    """With a store and bundles of the test's own."""
    return Runner(provider, tmp_path)


@pytest.fixture(scope="module")
def skills(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one small skill, for a sandbox that is opened without a run."""
    folder = tmp_path_factory.mktemp("skills")
    (folder / "greeter").mkdir()
    (folder / "greeter" / "SKILL.md").write_text("# Greeter\n")
    return folder
