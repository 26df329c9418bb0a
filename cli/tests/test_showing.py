"""What people see of the steps as they pass."""

import io
from collections.abc import Callable

from rich.console import Console

from assay_cli.progress_display import LiveProgress
from assay_cli.step_times import StepTimes
from assay_contracts.rpc import SkillStatusView

StatusMaker = Callable[..., SkillStatusView]


class Clock:
    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def test_each_step_is_timed_and_those_left_out_are_marked(make_status: StatusMaker) -> None:
    clock = Clock()
    steps = StepTimes(clock)
    steps.see(make_status("queued", "queued"))
    steps.see(make_status("planning"))
    clock.seconds += 2
    steps.see(make_status("online_run", detail="task 1 of 3"))
    clock.seconds += 3
    steps.see(make_status("online_run", detail="task 2 of 3"))
    assert [(line.title, line.state, line.seconds, line.detail) for line in steps.lines()][:3] == [
        ("writing tasks", "done", 2, ""),
        ("online run", "under way", 3, "task 2 of 3"),
        ("grading the online run", "to come", None, ""),
    ]
    steps.see(make_status("reporting"))
    clock.seconds += 1
    steps.see(make_status("done", "failed"))
    assert [(line.state, line.seconds) for line in steps.lines()] == [
        ("done", 2),
        ("done", 3),
        ("left out", None),
        ("left out", None),
        ("left out", None),
        ("left out", None),
        ("left out", None),
        ("left out", None),
        ("done", 1),
    ]
    assert steps.elapsed_s() == 6


def test_a_status_that_comes_late_does_not_turn_back_the_clock(make_status: StatusMaker) -> None:
    clock = Clock()
    steps = StepTimes(clock)
    steps.see(make_status("planning"))
    clock.seconds += 2
    steps.see(make_status("online_run"))
    steps.see(make_status("planning"))
    assert steps.current == "online_run"
    assert steps.seconds_of("planning") == 2


def test_the_live_table_shows_steps_and_takes_markup_as_text(make_status: StatusMaker) -> None:
    output = io.StringIO()
    console = Console(file=output, force_terminal=True, width=100)
    with LiveProgress(console) as progress:
        progress.see(make_status("planning", detail="[bold]three[/bold] tasks"))
        progress.notice("judge died")
        progress.see(make_status("done", "completed"))
    shown = output.getvalue()
    assert "judge died" in shown
    assert "writing tasks" in shown
