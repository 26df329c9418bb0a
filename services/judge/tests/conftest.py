"""A language model's server on loopback."""

from collections.abc import Iterator

import pytest

from assay_testkit.models import ModelServer, running_model_server


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    with running_model_server() as server:
        yield server
