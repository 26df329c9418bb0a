"""The same tasks without the skill: beside everything, never in its way."""

from datetime import timedelta

import pytest

from assay_contracts.base import Work
from assay_contracts.grades import GradingRequested
from assay_contracts.runs import RunRequested
from assay_contracts.validations import ValidationPlanned
from assay_scorer.domain.conductor import decide
from assay_scorer.domain.decisions import Decision
from assay_scorer.domain.inputs import Admitted, Cancelled, DeadlinePassed
from assay_scorer.domain.report import build_report
from assay_scorer.domain.validation import Validation
from assay_scorer.domain.work import open_work
from assay_testkit.scorer import (
    NOW,
    a_full_test,
    a_validation,
    an_environment,
    as_input,
    completions_in,
    gone_wrong,
    planned_by_llm,
    well_done,
    work_in,
)

LATER = NOW + timedelta(days=1)


def begun(
    *, control: bool = True, min_lift: float | None = None, llm: bool = True, full: bool = False
) -> Decision:
    """A validation whose tasks are planned."""
    environment = an_environment("other")
    validation = a_full_test(environment) if full else a_validation()
    decision = decide(
        validation, Admitted(environment=environment, control=control, min_lift=min_lift), NOW
    )
    plan = well_done(work_in(decision))
    assert isinstance(plan, ValidationPlanned)
    return decide(decision.validation, planned_by_llm(plan) if llm else plan, NOW)


def control_of(validation: Validation) -> Work:
    (work,) = [work for work in open_work(validation) if ".control" in work.step_id]
    return work


def without_skill(validation: Validation, grade: int) -> Validation:
    """The control done, with that grade for each task."""
    for _ in range(2):
        result = as_input(well_done(control_of(validation), grade=grade))
        validation = decide(validation, result, NOW).validation
    return validation


def went_on(validation: Validation, *, grade: int = 5) -> Decision:
    """All but the control done, with that grade for each task, as far as it goes."""
    decision = Decision(validation)
    while others := [w for w in open_work(decision.validation) if ".control" not in w.step_id]:
        result = as_input(well_done(others[0], grade=grade))
        decision = decide(decision.validation, result, NOW)
    return decision


def test_the_control_is_the_online_run_without_the_skill() -> None:
    validation = begun().validation
    online, control = open_work(validation)
    assert isinstance(online, RunRequested)
    assert isinstance(control, RunRequested)
    assert (control.kind, control.lane, control.capture) == ("control", "background", None)
    assert control.tasks == online.tasks
    assert control.base == online.base
    assert [skill.name for skill in control.skills] == ["other"]
    assert [skill.name for skill in online.skills] == ["other", "csv-analyzer"]


@pytest.mark.parametrize("settings", [{"control": False}, {"llm": False}, {"full": True}], ids=str)
def test_there_is_none_without_an_llm_nor_where_it_is_off(settings: dict[str, bool]) -> None:
    validation = begun(**settings).validation
    assert len(open_work(validation)) == 1
    assert validation.control is None


@pytest.mark.parametrize(
    ("grade", "without", "lift", "effect"),
    [(5, 2, 3.0, "adds"), (5, 5, 0.0, "nothing_measurable"), (4, 5, -1.0, "worse")],
)
def test_the_report_tells_the_grades_with_and_without(
    grade: int, without: int, lift: float, effect: str
) -> None:
    decision = went_on(without_skill(begun().validation, without), grade=grade)
    report = build_report(decision.validation)
    assert report.control is not None
    assert (report.control.lift, report.control.effect) == (lift, effect)
    assert [(each.grade, each.grade_without) for each in report.control.tasks] == [
        (grade, without)
    ] * 3
    assert completions_in(decision)[0].verdict == "passed"
    assert (
        decision.validation.scores
        == went_on(begun(llm=False).validation, grade=grade).validation.scores
    )
    assert sum(use.role == "executor" for use in report.models) >= 2


def test_a_verdict_does_not_wait_for_it() -> None:
    decision = went_on(begun().validation)
    assert completions_in(decision)[0].verdict == "passed"
    report = build_report(decision.validation)
    assert report.control is not None
    assert report.control.lift is None
    assert "not done" in report.control.missing


def test_its_failure_is_not_the_validations() -> None:
    validation = begun().validation
    for _ in range(3):
        failed = as_input(gone_wrong(control_of(validation), "model"))
        validation = decide(validation, failed, NOW).validation
    assert validation.step == "online_run"
    decision = went_on(validation)
    assert completions_in(decision)[0].verdict == "passed"
    report = build_report(decision.validation)
    assert report.control is not None
    assert report.control.missing == "model: it broke"


def test_it_is_graded_like_the_online_run() -> None:
    validation = begun().validation
    validation = decide(validation, as_input(well_done(control_of(validation))), NOW).validation
    grading = control_of(validation)
    assert isinstance(grading, GradingRequested)
    assert grading.run_kind == "control"
    assert len(grading.outcomes) == 3


@pytest.mark.parametrize(("without", "verdict"), [(2, "passed"), (4, "passed"), (5, "failed")])
def test_a_demanded_lift_decides(without: int, verdict: str) -> None:
    decision = went_on(without_skill(begun(min_lift=1.0).validation, without))
    (completed,) = completions_in(decision)
    assert completed.verdict == verdict
    assert f"lifts grades by {5 - without:g}" in completed.reason


def test_a_demanded_lift_is_waited_for() -> None:
    waiting = went_on(begun(min_lift=1.0).validation).validation
    assert waiting.verdict is None
    decision = went_on(without_skill(waiting, 2))
    assert completions_in(decision)[0].verdict == "passed"


def test_without_a_control_a_demanded_lift_is_not_known() -> None:
    for decision in (
        went_on(begun(min_lift=1.0, llm=False).validation),
        went_on(
            decide(
                went_on(begun(min_lift=1.0).validation).validation, DeadlinePassed(), LATER
            ).validation
        ),
    ):
        (completed,) = completions_in(decision)
        assert completed.verdict == "inconclusive"
        assert "no control" in completed.reason


def test_one_that_waits_can_be_cancelled() -> None:
    waiting = went_on(begun(min_lift=1.0).validation).validation
    decision = decide(waiting, Cancelled(why="Cancelled by ann"), NOW)
    assert decision.validation.step == "done"
    assert completions_in(decision)[0].verdict == "inconclusive"


def test_a_skill_that_fails_anyway_does_not_wait() -> None:
    decision = went_on(begun(min_lift=1.0).validation, grade=1)
    assert completions_in(decision)[0].verdict == "failed"
