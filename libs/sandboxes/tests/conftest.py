import pytest

from assay_sandboxes.conformance.under_test import PRETENDED, Kit
from assay_sandboxes.fake.provider import FakeProvider
from assay_testkit.sandboxes import blocked_sandbox, bubblewrap, daytona, double, skills

__all__ = ["blocked_sandbox", "bubblewrap", "daytona", "double", "skills"]


@pytest.fixture(params=["fake", "bubblewrap", "daytona"])
def kit(request: pytest.FixtureRequest) -> Kit:
    if request.param == "fake":
        return Kit(FakeProvider(), PRETENDED, request.getfixturevalue("skills"))
    given: Kit = request.getfixturevalue(request.param)
    return given
