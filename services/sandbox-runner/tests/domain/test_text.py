from hypothesis import given
from hypothesis import strategies as st

from assay_sandbox_runner.domain.text import clip


@given(text=st.text(max_size=400), limit=st.integers(min_value=0, max_value=300))
def test_clipped_text_fits_and_says_whether_it_was_cut(text: str, limit: int) -> None:
    clipped = clip(text, limit)

    assert len(clipped.text) <= limit
    assert clipped.truncated == (len(text) > limit)
    if not clipped.truncated:
        assert clipped.text == text


def test_clipping_keeps_both_ends_and_counts_the_rest() -> None:
    clipped = clip("a" * 100 + "b" * 800 + "c" * 100, 248)

    assert clipped.text == "a" * 100 + "\n[... 800 characters left out ...]\n" + "c" * 100
