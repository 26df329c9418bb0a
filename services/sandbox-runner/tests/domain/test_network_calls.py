from datetime import UTC, datetime, timedelta

import pytest

from assay_sandbox_runner.domain.network_calls import TaskWindow, attribute_to_tasks
from assay_sandboxes.port import ObservedCall

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("after_s", "task_id"), [(-1, None), (0, "t1"), (5, "t1"), (15, None), (25, "t2"), (40, None)]
)
def test_call_belongs_to_the_task_it_was_made_in(after_s: int, task_id: str | None) -> None:
    def at(seconds: int) -> datetime:
        return NOON + timedelta(seconds=seconds)

    windows = [
        TaskWindow("t1", "/tasks/t1", at(0), at(10)),
        TaskWindow("t2", "/tasks/t2", at(20), at(30)),
    ]

    (call,) = attribute_to_tasks(
        [ObservedCall(at(after_s), "a.example", "curl a.example")], windows
    )

    assert call.task_id == task_id
    assert (call.destination, call.command) == ("a.example", "curl a.example")


@pytest.mark.parametrize(
    ("cwd", "task_id"), [("/tasks/t2", "t2"), ("/tasks/t1", "t1"), ("/tasks", None), (None, None)]
)
def test_of_tasks_side_by_side_the_folder_tells_who_called(
    cwd: str | None, task_id: str | None
) -> None:
    windows = [TaskWindow(f"t{n}", f"/tasks/t{n}", NOON, NOON) for n in (1, 2)]

    (call,) = attribute_to_tasks([ObservedCall(NOON, "a.example", "curl a.example", cwd)], windows)

    assert call.task_id == task_id


def test_calls_come_task_by_task_whichever_was_first() -> None:
    windows = [TaskWindow(f"t{n}", f"/tasks/t{n}", NOON, NOON) for n in (1, 2)]
    calls = [
        ObservedCall(NOON + timedelta(seconds=second), "a.example", "curl", f"/tasks/t{task}")
        for second, task in enumerate((2, 1, 2, 1))
    ]

    attributed = attribute_to_tasks(calls, windows)

    assert [call.task_id for call in attributed] == ["t1", "t1", "t2", "t2"]
    assert attributed[0].at < attributed[1].at
