import pytest

from assay_gateway.domain.media_types import preferred_media_type


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", "application/json"),
        ("text/markdown", "text/markdown"),
        ("TEXT/Markdown ; charset=utf-8", "text/markdown"),
        ("text/markdown, application/json", "application/json"),
        ("application/json;q=0.5, text/markdown;q=0.6", "text/markdown"),
        ("application/json;q=0.5, text/markdown;Q=0.4", "application/json"),
        ("application/*;q=0.2, text/*", "text/markdown"),
        ("*/*, application/json;q=0", "text/markdown"),
        ("text/markdown;q=much", "application/json"),
        (";;,,=", "application/json"),
    ],
)
def test_which_form_is_preferred(accept: str, expected: str) -> None:
    assert preferred_media_type(accept, ("application/json", "text/markdown")) == expected
