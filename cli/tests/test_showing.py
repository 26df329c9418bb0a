"""What people see: the steps as they pass, and the score card."""

import io
from collections.abc import Callable

import pytest
from rich.console import Console

from assay_cli.progress_display import LiveProgress
from assay_cli.scorecard import score_card
from assay_cli.step_times import StepTimes
from assay_cli.text import one_line
from assay_contracts.reports import Report
from assay_contracts.rpc import SkillStatusView
from assay_contracts.runs import ModelUse
from assay_contracts.validations import Scores

StatusMaker = Callable[..., SkillStatusView]
ReportMaker = Callable[..., Report]


class Clock:
    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def card(report: Report) -> str:
    output = io.StringIO()
    Console(file=output, width=100).print(score_card(report))
    return output.getvalue()


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


def test_the_score_card_has_everything_a_person_asks_first(make_report: ReportMaker) -> None:
    shown = card(make_report())
    for expected in (
        "csv-analyzer  PASSED  59.3 of 100",
        "The overall score reaches 70.",
        "A good skill.",
        "completion   62.5",
        "trigger      50.0",
        "offline      70.0",
        "Do thing 1.",
        "5 of 5  used the skill, 1 command, 1 of 1 checks, 0.5 s",
        "2 of 5  did not use the skill",
        "The file is there.",
        "network calls, online run   not watched",
        "network calls, offline run  api.example.org:443 by t1 (curl x)",
        "No requirements.txt.",
        "no LLM took part",
        "12.5 s, of which 0.2 s in the model and 3.0 s in sandbox commands",
    ):
        assert expected in shown


def test_the_score_card_names_the_models_that_took_part(make_report: ReportMaker) -> None:
    uses = tuple(
        ModelUse(role=role, model=model, prompt_version="p", calls=1, seconds=1)
        for role, model in (("planner", "openai:a"), ("grader", "openai:a"), ("executor", "x:b"))
    )
    shown = card(make_report(models=uses))
    assert "openai:a (planner, grader), x:b (executor)" in shown
    assert "no LLM" not in shown


def test_the_score_card_of_an_inconclusive_validation_blames_no_one(
    make_report: ReportMaker,
) -> None:
    report = make_report()
    failed = report.runs[0].model_copy(
        update={"outcomes": (), "grades": (), "failure": "sandbox: no namespace", "timings": None}
    )
    shown = card(
        make_report(verdict="inconclusive", scores=None, runs=(failed,), models=(), prose=None)
    )
    assert "INCONCLUSIVE" in shown
    assert "of 100" not in shown
    assert "online  –  sandbox: no namespace" in shown
    assert "unknown, for the run failed" in shown


def test_an_offline_run_without_network_calls_says_so(make_report: ReportMaker) -> None:
    report = make_report()
    quiet = report.runs[1].model_copy(update={"network_calls": ()})
    assert "network calls, offline run  none" in card(make_report(runs=(quiet,)))


def test_a_skipped_offline_run_is_no_zero(make_report: ReportMaker) -> None:
    report = make_report()
    scores = Scores(completion=0, trigger=100, offline=None, overall=35)
    shown = card(make_report(scores=scores, runs=report.runs[:1], verdict="failed"))
    assert "offline     not run" in shown
    assert "offline run" not in shown


@pytest.mark.parametrize("hostile", ["\x1b[2J\x1b[31mPASSED", "a\u202eb", "[bold]x[/bold]", "a\rb"])
def test_what_a_skill_wrote_cannot_steer_the_terminal(
    make_report: ReportMaker, hostile: str
) -> None:
    report = make_report()
    grade = report.runs[0].grades[0].model_copy(update={"reasons": hostile})
    run = report.runs[0].model_copy(update={"grades": (grade,)})
    shown = card(make_report(skill_name=hostile, reason=hostile, runs=(run,)))
    assert one_line(hostile) in shown
    assert not any(character in shown for character in "\x1b\u202e\r")


def test_one_line_is_one_line_and_no_longer_than_asked() -> None:
    assert one_line(" a\n\n b\tc\u2028d ") == "a b c d"
    assert one_line("abcdef", 4) == "abc…"
    assert one_line("abcd", 4) == "abcd"
