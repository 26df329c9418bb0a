from collections.abc import AsyncIterator

import pytest

from assay_contracts.runs import NetworkMode
from assay_sandboxes.conformance.under_test import FAKE_SHELL, ProviderUnderTest
from assay_sandboxes.fake.provider import FakeProvider
from assay_sandboxes.port import Sandbox
from assay_testkit.sandboxes import blocked_sandbox, bubblewrap, daytona, double, skills

__all__ = ["blocked_sandbox", "bubblewrap", "daytona", "double", "skills"]


@pytest.fixture(params=["fake", "bubblewrap", "daytona"])
def any_provider(request: pytest.FixtureRequest) -> ProviderUnderTest:
    if request.param == "fake":
        return ProviderUnderTest(FakeProvider(), FAKE_SHELL, request.getfixturevalue("skills"))
    given: ProviderUnderTest = request.getfixturevalue(request.param)
    return given


@pytest.fixture(params=["bubblewrap", "daytona"])
def real_provider(request: pytest.FixtureRequest) -> ProviderUnderTest:
    given: ProviderUnderTest = request.getfixturevalue(request.param)
    return given


@pytest.fixture(params=["open", "blocked"])
async def any_sandbox(
    request: pytest.FixtureRequest, bubblewrap: ProviderUnderTest
) -> AsyncIterator[Sandbox]:
    """A bubblewrap sandbox, with either network."""
    network: NetworkMode = request.param
    async with bubblewrap.open(network) as sandbox:
        yield sandbox
