"""What every kind of sandbox does alike."""

import pytest

from assay_sandboxes.conformance.expectations import NotApplicable
from assay_sandboxes.conformance.suite import CALL_CHECKS, CHECKS, Check
from assay_sandboxes.conformance.under_test import ProviderUnderTest


@pytest.mark.parametrize("check", CHECKS, ids=str)
async def test_it_does_what_every_sandbox_does(
    check: Check, any_provider: ProviderUnderTest
) -> None:
    # Ours may do without nothing, so every check applies.
    assert any_provider.blocks_network
    assert any_provider.observes_calls
    await check.run(any_provider)


@pytest.mark.parametrize("check", CALL_CHECKS, ids=str)
async def test_calls_are_counted_exactly(check: Check, real_provider: ProviderUnderTest) -> None:
    try:
        await check.run(real_provider)
    except NotApplicable as reason:
        pytest.skip(str(reason))
