"""What the tests of several packages share. No service or library depends on it."""

import pytest

# Checks of the conformance kit that fail are to say as much as tests that do.
pytest.register_assert_rewrite("assay_sandboxes.conformance")
