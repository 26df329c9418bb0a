"""A provider that the library does not know passes the library's checks, every one of them."""

import pytest

from assay_sandboxes.conformance.expectations import NotApplicable
from assay_sandboxes.conformance.suite import CALL_CHECKS, CHECKS, Check
from assay_sandboxes.conformance.under_test import ProviderUnderTest


@pytest.mark.parametrize("check", CHECKS, ids=str)
async def test_it_does_what_every_sandbox_does(check: Check, folders: ProviderUnderTest) -> None:
    await check.run(folders)


@pytest.mark.parametrize("check", CALL_CHECKS, ids=str)
async def test_its_calls_are_counted_exactly(check: Check, folders: ProviderUnderTest) -> None:
    try:
        await check.run(folders)
    except NotApplicable as reason:
        pytest.skip(str(reason))
