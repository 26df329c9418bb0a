from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay_sandbox_runner.domain.calls import ObservedCall
from assay_sandbox_runner.domain.install_commands import (
    changes_packages,
    does_the_same_in_every_folder,
)
from assay_sandbox_runner.domain.network_calls import TaskWindow, attribute_to_tasks
from assay_sandbox_runner.domain.outcome import files_made
from assay_sandbox_runner.domain.shared_places import tasks_must_take_turns
from assay_sandbox_runner.domain.task_limits import seconds_for_task, tokens_for_task
from assay_sandbox_runner.domain.text import clip

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
    seconds = seconds_for_task(run_limit_s=limit, turns=tasks, ceiling_s=ceiling)

    assert 0 < seconds <= ceiling
    assert seconds * tasks < limit


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


def test_new_and_changed_files_are_made_files() -> None:
    before = {"given.csv": "10 1.0", "edited.txt": "5 1.0", "deleted.txt": "1 1.0"}
    after = {"given.csv": "10 1.0", "edited.txt": "5 2.0", "z.md": "1 3.0", "a.md": "1 3.0"}

    assert files_made(before, after) == ("a.md", "edited.txt", "z.md")


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


def test_tokens_are_shared_out_equally() -> None:
    assert tokens_for_task(None, 3) is None
    assert tokens_for_task(100, 3) == 33
    assert tokens_for_task(0, 3) == 0


@pytest.mark.parametrize(
    ("command", "changes", "everywhere"),
    [
        ("pip install pandas", True, True),
        ("python3 -m pip install 'pandas>=2' -q", True, True),
        ("pip install -r /workspace/skills/x/requirements.txt", True, True),
        ("pip install --no-index --find-links=/workspace/skills/x/wheels tool", True, True),
        ("pip install --no-index --find-links /workspace/skills/x/wheels tool", True, True),
        ("npm install -g left-pad", True, True),
        ("npm i --global @scope/thing@1.2.3", True, True),
        ("pip install -r requirements.txt", True, False),
        ("pip install --find-links wheels tool", True, False),
        ("pip install .", True, False),
        ("pip install ./pkg", True, False),
        ("pip install tool-1.0-py3-none-any.whl", True, False),
        ("pip install $NAME", True, False),
        ("pip install a && rm -rf b", True, False),
        ("cd x && pip install a", True, False),
        ("npm install", True, False),
        ("npm install left-pad", True, False),
        ("sudo apt-get -y install jq", True, False),
        ("uv pip install pandas", True, False),
        ("pip uninstall -y pandas", True, False),
        ("pip list", False, False),
        ("python3 scripts/pip_report.py", False, False),
        ("echo installed", False, False),
        ("npm run build", False, False),
    ],
)
def test_commands_that_change_what_is_installed_are_told(
    command: str, changes: bool, everywhere: bool
) -> None:
    assert changes_packages(command) == changes
    assert (changes_packages(command) and does_the_same_in_every_folder(command)) == everywhere


@pytest.mark.parametrize(
    ("text", "take_turns"),
    [
        ("python3 scripts/count.py notes.txt --output report.txt", False),
        ("Path('out.json').write_text(x)", False),
        ("tempfile.mkdtemp()", False),
        ("see docs/tmp.md", False),
        ("open('/tmp/cache.json', 'w')", True),
        ("cat ~/.config/x", True),
        ("Path.home() / 'x'", True),
        ("python3 -m http.server 8000", True),
        ("curl http://localhost:3000", True),
        ("server.listen(3000)", True),
        ("cp x /workspace/out", True),
        ("python3 /workspace/skills/x/run.py", False),
    ],
)
def test_places_outside_the_folders_are_noticed(text: str, take_turns: bool) -> None:
    assert tasks_must_take_turns(["nothing here", text]) == take_turns
