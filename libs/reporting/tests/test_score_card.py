"""The score card: what a person asks first, on one screen, and nothing that steers a terminal."""

import io

import pytest
from rich.console import Console

from assay_contracts.base import ModelUse
from assay_contracts.reports import Report
from assay_contracts.scores import Scores
from assay_reporting.score_card import render_score_card
from assay_reporting.text import one_line
from assay_testkit.reports import a_call, a_report, a_run, mixed_report


def card(report: Report) -> str:
    output = io.StringIO()
    Console(file=output, width=100).print(render_score_card(report))
    return output.getvalue()


def test_the_score_card_has_everything_a_person_asks_first() -> None:
    shown = card(mixed_report())
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


def test_the_score_card_names_the_models_that_took_part() -> None:
    uses = tuple(
        ModelUse(role=role, model=model, prompt_version="p", calls=1, seconds=1)
        for role, model in (("planner", "openai:a"), ("grader", "openai:a"), ("executor", "x:b"))
    )
    shown = card(mixed_report(models=uses))
    assert "openai:a (planner, grader), x:b (executor)" in shown
    assert "no LLM" not in shown


def test_the_score_card_of_an_inconclusive_validation_blames_no_one() -> None:
    report = mixed_report()
    failed = report.runs[0].model_copy(
        update={"outcomes": (), "grades": (), "failure": "sandbox: no namespace", "timings": None}
    )
    shown = card(
        mixed_report(verdict="inconclusive", scores=None, runs=(failed,), models=(), prose=None)
    )
    assert "INCONCLUSIVE" in shown
    assert "of 100" not in shown
    assert "online  –  sandbox: no namespace" in shown
    assert "unknown, for the run failed" in shown


def test_an_offline_run_without_network_calls_says_so() -> None:
    report = mixed_report()
    quiet = report.runs[1].model_copy(update={"network_calls": ()})
    assert "network calls, offline run  none" in card(mixed_report(runs=(quiet,)))


def test_network_calls_that_are_not_listed_are_counted_too() -> None:
    run = a_run("offline", network_calls=(a_call(0),), network_calls_omitted=20)
    assert "and 20 more" in card(a_report(runs=(run,)))


def test_each_network_call_is_told_with_its_cause_and_whether_it_counted() -> None:
    pip = a_call(0, cause="package_manager", program="pip install x", attempts=6)
    own = a_call(1, cause="skill")
    runs = (a_run("online", network_calls=(pip,)), a_run("offline", network_calls=(pip, own)))
    shown = " ".join(card(a_report(runs=runs)).split())
    told = "host0.example by t1 (pip install x), 6 attempts, by a package manager"
    own_line = "host1.example by t1 (python fetch.py), by the skill"
    assert f"network calls, online run {told}" in shown
    assert f"network calls, offline run {own_line} {told}, not counted" in shown


def test_an_online_run_that_was_watched_and_called_nobody_says_so() -> None:
    run = a_run("online")
    assert run.sandbox is not None
    watched = run.sandbox.model_copy(update={"watched": True})
    assert "network calls, online run  none" in card(
        a_report(runs=(run.model_copy(update={"sandbox": watched}),))
    )


def test_a_skipped_offline_run_is_no_zero() -> None:
    report = mixed_report()
    scores = Scores(completion=0, trigger=100, offline=None, overall=35)
    shown = card(mixed_report(scores=scores, runs=report.runs[:1], verdict="failed"))
    assert "offline     not run" in shown
    assert "offline run" not in shown


@pytest.mark.parametrize("hostile", ["\x1b[2J\x1b[31mPASSED", "a\u202eb", "[bold]x[/bold]", "a\rb"])
def test_what_a_skill_wrote_cannot_steer_the_terminal(hostile: str) -> None:
    report = mixed_report()
    grade = report.runs[0].grades[0].model_copy(update={"reasons": hostile})
    run = report.runs[0].model_copy(update={"grades": (grade,)})
    shown = card(mixed_report(skill_name=hostile, reason=hostile, runs=(run,)))
    assert one_line(hostile) in shown
    assert not any(character in shown for character in "\x1b\u202e\r")


def test_one_line_is_one_line_and_no_longer_than_asked() -> None:
    assert one_line(" a\n\n b\tc\u2028d ") == "a b c d"
    assert one_line("abcdef", 4) == "abc…"
    assert one_line("abcd", 4) == "abcd"
