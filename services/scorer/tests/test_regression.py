"""Layer 2: every approved skill is tested again on the candidate, side by side."""

from datetime import timedelta

import pytest

from assay_contracts.base import Work
from assay_contracts.grades import GradingRequested
from assay_contracts.reports import ReportRequested
from assay_contracts.runs import RunRequested
from assay_contracts.validations import ValidationCompleted
from assay_reporting.markdown import render_markdown
from assay_scorer.domain.conductor import decide
from assay_scorer.domain.decisions import Decision
from assay_scorer.domain.environment import Environment
from assay_scorer.domain.failures import TRIES
from assay_scorer.domain.inputs import Admitted, Cancelled, ConductorInput, DeadlinePassed
from assay_scorer.domain.report import build_report
from assay_scorer.domain.validation import Validation
from assay_scorer.domain.work import open_work
from assay_testkit.scorer import NOW, a_validation, an_environment, gone_wrong, well_done


def take(validation: Validation, work: Work, *, grade: int = 5) -> Decision:
    result = well_done(work, grade=grade)
    assert isinstance(result, ConductorInput)
    return decide(validation, result, NOW)


def in_layer2(environment: Environment, tokens: int | None = None) -> Validation:
    validation = decide(
        a_validation(), Admitted(environment=environment, token_budget=tokens), NOW
    ).validation
    while validation.step not in ("regression", "reporting"):
        validation = take(validation, open_work(validation)[0]).validation
    return validation


def about(validation: Validation, skill: str) -> Work:
    (work,) = [work for work in open_work(validation) if work.skill_name == skill]
    return work


def through(validation: Validation, **grades: int) -> Validation:
    """Run and grade every regression, with these grades for all tasks of a skill."""
    while validation.step == "regression":
        work = open_work(validation)[0]
        validation = take(validation, work, grade=grades.get(work.skill_name, 5)).validation
    return validation


def test_the_online_run_starts_from_the_current_version_with_all_approved_skills() -> None:
    validation = decide(
        a_validation(), Admitted(environment=an_environment("alpha", "beta")), NOW
    ).validation
    validation = take(validation, open_work(validation)[0]).validation
    (online,) = open_work(validation)
    assert isinstance(online, RunRequested)
    assert online.base == "snapshot-2"
    assert [skill.name for skill in online.skills] == ["alpha", "beta", "csv-analyzer"]


def test_each_approved_skill_is_run_on_the_candidate_offline_with_its_own_tasks() -> None:
    validation = in_layer2(an_environment("alpha", "beta"))
    assert validation.stage == "layer2"
    runs = open_work(validation)
    assert [run.step_id.split(".", 1)[1] for run in runs] == [
        "regression.alpha",
        "regression.beta",
    ]
    for run, approved in zip(runs, validation.environment.approved, strict=True):
        assert isinstance(run, RunRequested)
        assert run.kind == "regression"
        assert (run.skill_id, run.skill_name) == (approved.skill_id, approved.name)
        assert run.tasks == approved.tasks
        assert run.base == validation.candidate
        assert run.capture is None
        assert [skill.name for skill in run.skills] == ["alpha", "beta", "csv-analyzer"]


def test_a_run_is_graded_while_others_are_under_way() -> None:
    validation = in_layer2(an_environment("alpha", "beta"))
    decision = take(validation, about(validation, "beta"))
    (grading,) = [outgoing.message for outgoing in decision.outgoing]
    assert isinstance(grading, GradingRequested)
    assert grading.step_id.endswith(".regression_grading.beta")
    assert grading.run_kind == "regression"
    assert isinstance(about(decision.validation, "alpha"), RunRequested)


def test_it_passes_when_every_skill_still_works() -> None:
    validation = through(in_layer2(an_environment("alpha", "beta")), alpha=4)
    assert isinstance(open_work(validation)[0], ReportRequested)
    done = take(validation, open_work(validation)[0]).validation
    assert (done.verdict, done.layer1_passed, done.layer2_passed) == ("passed", True, True)
    assert done.skill_status == "pending"
    assert "All 2 approved skills still work" in str(done.reason)


def test_one_broken_skill_fails_it_and_is_named_with_its_tasks() -> None:
    validation = through(in_layer2(an_environment("alpha", "beta", "gamma")), beta=2)
    assert validation.step == "reporting"
    done = take(validation, open_work(validation)[0]).validation
    assert (done.verdict, done.layer1_passed, done.layer2_passed) == ("failed", True, False)
    assert done.skill_status == "rejected"
    assert "'beta' (t1, t2, t3)" in str(done.reason)
    assert "alpha" not in str(done.reason)
    report = build_report(done)
    assert {each.skill_name: each.passed for each in report.regressions} == {
        "alpha": True,
        "beta": False,
        "gamma": True,
    }
    assert report.runtime_version == "v1.3"
    assert (
        "| beta | **failed** | run: there was no result yet | t1 2 (5), t2 2 (5), t3 2 (5) |"
        in render_markdown(report)
    )


@pytest.mark.parametrize(
    ("before", "now", "passes"),
    [
        *((5, now, now >= 4) for now in range(1, 6)),
        *((4, now, now >= 4) for now in range(1, 6)),
        *((3, now, now >= 3) for now in range(1, 6)),
        (1, 1, True),
    ],
)
def test_a_task_is_completed_when_done_well_or_no_worse_than_before(
    before: int, now: int, passes: bool
) -> None:
    validation = through(in_layer2(an_environment("alpha", grade=before)), alpha=now)
    assert validation.verdict == ("passed" if passes else "failed")


def test_without_approved_skills_there_is_nothing_to_test() -> None:
    validation = in_layer2(Environment())
    assert validation.step == "reporting"
    assert validation.layer2_passed is True


def test_a_skill_is_not_tested_against_itself() -> None:
    validation = in_layer2(an_environment("csv-analyzer", "beta"))
    assert [work.skill_name for work in open_work(validation)] == ["beta"]
    work = open_work(validation)[0]
    assert isinstance(work, RunRequested)
    assert [skill.name for skill in work.skills] == ["beta", "csv-analyzer"]


def test_below_the_threshold_nobody_is_tested_again() -> None:
    validation = decide(
        a_validation(), Admitted(environment=an_environment("alpha")), NOW
    ).validation
    while validation.step != "reporting":
        result = well_done(open_work(validation)[0], used=False)
        assert isinstance(result, ConductorInput)
        validation = decide(validation, result, NOW).validation
    assert validation.regressions == ()
    assert (validation.layer1_passed, validation.layer2_passed) == (False, None)


def test_each_regression_has_its_own_tries_and_its_own_lane() -> None:
    validation = in_layer2(an_environment("alpha", "beta"))
    died = gone_wrong(about(validation, "alpha"), "worker_died")
    assert isinstance(died, ConductorInput)
    decision = decide(validation, died, NOW)
    (again,) = [outgoing.message for outgoing in decision.outgoing]
    assert isinstance(again, Work)
    assert (again.skill_name, again.lane, again.attempt) == ("alpha", "solo", 2)
    beta = about(decision.validation, "beta")
    assert (beta.lane, beta.attempt) == ("shared", 1)


def test_a_regression_that_we_cannot_carry_out_is_inconclusive_not_a_failure() -> None:
    validation = in_layer2(an_environment("alpha", "beta"))
    for _ in range(TRIES):
        failed = gone_wrong(about(validation, "alpha"))
        assert isinstance(failed, ConductorInput)
        validation = decide(validation, failed, NOW).validation
    assert (validation.step, validation.verdict) == ("done", "inconclusive")
    assert (validation.layer1_passed, validation.layer2_passed) == (None, None)
    assert "Regression for 'alpha' could not be completed" in str(validation.reason)


def test_every_approved_skill_adds_a_minute() -> None:
    validation = in_layer2(an_environment("alpha", "beta"))
    assert validation.deadline == NOW + timedelta(seconds=300 + 2 * 60)
    assert decide(validation, DeadlinePassed(), NOW + timedelta(seconds=419)) == Decision(
        validation
    )
    ended = decide(validation, DeadlinePassed(), NOW + timedelta(seconds=421)).validation
    assert ended.reason == (
        "The validation did not finish within its 420 s; it was at: regression."
    )


def test_layer_2_has_tokens_of_its_own() -> None:
    validation = in_layer2(an_environment("alpha", "beta"), tokens=1000)
    assert [work.token_budget for work in open_work(validation)] == [300, 300]
    graded = take(validation, about(validation, "alpha")).validation
    assert about(graded, "alpha").token_budget == 100


@pytest.mark.parametrize("steps", range(8))
def test_it_can_be_cancelled_at_any_time(steps: int) -> None:
    validation = a_validation()
    if steps:
        environment = an_environment("alpha")
        validation = decide(validation, Admitted(environment=environment), NOW).validation
    for _ in range(steps - 1):
        validation = take(validation, open_work(validation)[0]).validation
    decision = decide(validation, Cancelled(why="Cancelled by admin"), NOW)
    (completed,) = [
        outgoing.message
        for outgoing in decision.outgoing
        if isinstance(outgoing.message, ValidationCompleted)
    ]
    assert completed.verdict == "inconclusive"
    assert completed.reason.startswith("Cancelled by admin")
    assert decide(decision.validation, Cancelled(why="Cancelled by admin"), NOW) == Decision(
        decision.validation
    )
