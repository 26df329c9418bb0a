from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay_contracts.runs import ModelUse
from assay_sandbox_runner.domain.attempt import (
    TaskWindow,
    attribute,
    files_made,
    seconds_for_task,
    total_use,
)
from assay_sandbox_runner.domain.text import clip
from assay_sandbox_runner.ports import ObservedCall

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


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


@given(
    limit=st.floats(min_value=0.1, max_value=1000),
    tasks=st.integers(min_value=0, max_value=10),
    ceiling=st.floats(min_value=0.1, max_value=1000),
)
def test_tasks_that_all_hang_leave_time_for_the_run_to_end(
    limit: float, tasks: int, ceiling: float
) -> None:
    seconds = seconds_for_task(run_limit_s=limit, tasks=tasks, ceiling_s=ceiling)

    assert 0 < seconds <= ceiling
    assert seconds * tasks < limit


@pytest.mark.parametrize(
    ("after_s", "task_id"), [(-1, None), (0, "t1"), (5, "t1"), (15, None), (25, "t2"), (40, None)]
)
def test_call_belongs_to_the_task_it_was_made_in(after_s: int, task_id: str | None) -> None:
    def at(seconds: int) -> datetime:
        return NOON + timedelta(seconds=seconds)

    windows = [TaskWindow("t1", at(0), at(10)), TaskWindow("t2", at(20), at(30))]

    (call,) = attribute([ObservedCall(at(after_s), "a.example", "curl a.example")], windows)

    assert call.task_id == task_id
    assert (call.destination, call.command) == ("a.example", "curl a.example")


def test_new_and_changed_files_are_made_files() -> None:
    before = {"given.csv": "10 1.0", "edited.txt": "5 1.0", "deleted.txt": "1 1.0"}
    after = {"given.csv": "10 1.0", "edited.txt": "5 2.0", "z.md": "1 3.0", "a.md": "1 3.0"}

    assert files_made(before, after) == ("a.md", "edited.txt", "z.md")


def test_model_use_adds_up() -> None:
    one = ModelUse(
        role="executor",
        model="m",
        prompt_version="p",
        calls=2,
        input_tokens=10,
        output_tokens=3,
        seconds=0.5,
    )

    assert total_use([]) is None
    assert total_use([one, one]) == one.model_copy(
        update={"calls": 4, "input_tokens": 20, "output_tokens": 6, "seconds": 1.0}
    )
