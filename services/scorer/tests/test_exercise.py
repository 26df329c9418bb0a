"""The rule behind the three outcomes without a language model."""

from hypothesis import given
from hypothesis import strategies as st

from assay_contracts.coverage import Coverage, CoveredItem, ItemState
from assay_scorer.domain.exercise import exercised

STATES: tuple[ItemState, ...] = ("worked", "failed", "blocked", "unclear", "not_tried")


def coverage(items: dict[str, ItemState]) -> Coverage:
    """One item for each program of a bundle."""
    covered = tuple(
        CoveredItem(kind="command", what=f"python3 {name}", program=name, state=state, reason="so")
        for name, state in items.items()
    )
    return Coverage(
        items=covered,
        total=len(covered),
        exercised=sum(item.exercised for item in covered),
        worked=sum(item.state == "worked" for item in covered),
        programs=len(covered),
        programs_worked=sum(item.state == "worked" for item in covered),
    )


def test_what_was_exercised_and_worked_passes() -> None:
    assert exercised(coverage({"a.py": "worked", "b.py": "unclear"})).outcome == "worked"


def test_what_did_not_work_as_documented_fails_and_says_where() -> None:
    shown = exercised(coverage({"a.py": "worked", "b.py": "failed"}))

    assert shown.outcome == "failed"
    assert "`python3 b.py`" in shown.reason


def test_an_optional_helper_fails_nothing() -> None:
    whole = coverage({"a.py": "worked", "b.py": "failed"})
    first, second = whole.items
    optional = second.model_copy(update={"optional": True})
    assert exercised(whole.model_copy(update={"items": (first, optional)})).outcome == "worked"


def test_where_most_could_not_be_tried_nothing_is_known_and_the_reason_is_named() -> None:
    shown = exercised(coverage({"a.py": "worked", "b.py": "blocked", "c.py": "blocked"}))

    assert shown.outcome == "unknown"
    assert "`python3 b.py` could not be tried: so" in shown.reason


def test_words_alone_need_a_language_model() -> None:
    shown = exercised(Coverage())

    assert (shown.outcome, shown.offers_nothing) == ("unknown", True)
    assert "ASSAY_JUDGE_MODEL" in shown.reason


@given(
    st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from(STATES), min_size=1),
    st.sets(st.sampled_from("abcdefgh")),
)
def test_taking_a_program_out_of_the_document_never_makes_a_skill_pass(
    items: dict[str, ItemState], removed: set[str]
) -> None:
    """It stays in the bundle, where nothing shows any more how to run it."""
    before = exercised(coverage(items)).outcome
    after = exercised(
        coverage({name: "not_tried" if name in removed else state for name, state in items.items()})
    ).outcome
    repaired = {name for name, state in items.items() if state == "failed"} <= removed

    assert after != "worked" or before == "worked" or (before == "failed" and repaired)
    if removed >= set(items):
        assert after == "unknown"
