"""A provider that the library does not know passes the library's checks, every one of them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.sandboxes.folder_provider import FolderProvider

from assay_sandboxes.conformance.expectations import NotApplicable
from assay_sandboxes.conformance.suite import CALL_CHECKS, CHECKS, Check
from assay_sandboxes.conformance.under_test import REAL_SHELL, ProviderUnderTest, write_skills


@pytest.fixture
async def folders(tmp_path: Path) -> AsyncIterator[ProviderUnderTest]:
    provider = FolderProvider(tmp_path / "state")
    yield ProviderUnderTest(provider, REAL_SHELL, write_skills(tmp_path / "skills"))
    await provider.close()


@pytest.mark.parametrize("check", CHECKS, ids=str)
async def test_it_does_what_every_sandbox_does(check: Check, folders: ProviderUnderTest) -> None:
    await check.run(folders)


@pytest.mark.parametrize("check", CALL_CHECKS, ids=str)
async def test_its_calls_are_counted_exactly(check: Check, folders: ProviderUnderTest) -> None:
    try:
        await check.run(folders)
    except NotApplicable as reason:
        pytest.skip(str(reason))
