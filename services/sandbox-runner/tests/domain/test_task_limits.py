from hypothesis import given
from hypothesis import strategies as st

from assay_sandbox_runner.domain.task_limits import seconds_for_task, tokens_for_task


@given(
    limit=st.floats(min_value=0.1, max_value=1000),
    tasks=st.integers(min_value=0, max_value=10),
    ceiling=st.floats(min_value=0.1, max_value=1000),
)
def test_tasks_that_all_hang_leave_time_for_the_run_to_end(
    limit: float, tasks: int, ceiling: float
) -> None:
    seconds = seconds_for_task(run_limit_s=limit, turns=tasks, ceiling_s=ceiling)

    assert 0 < seconds <= ceiling
    assert seconds * tasks < limit


def test_tokens_are_shared_out_equally() -> None:
    assert tokens_for_task(None, 3) is None
    assert tokens_for_task(100, 3) == 33
    assert tokens_for_task(0, 3) == 0
