"""Tasks are repeated where that could change the verdict, and the median counts."""

from datetime import timedelta

import pytest

from assay_contracts.base import Work
from assay_contracts.grades import Grade, RunGraded
from assay_contracts.runs import RunFinished, RunRequested
from assay_contracts.validations import ValidationPlanned
from assay_scorer.domain.conductor import decide
from assay_scorer.domain.decisions import Decision
from assay_scorer.domain.inputs import Admitted, Cancelled, DeadlinePassed
from assay_scorer.domain.recompute import difference
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
    worked_by_llm,
)

Grades = tuple[int, ...]


def answered(
    validation: Validation, work: Work, grades: Grades, *, llm: bool, samples: Grades
) -> Decision:
    result = well_done(work)
    if isinstance(result, ValidationPlanned) and llm:
        result = planned_by_llm(result)
    if isinstance(result, RunFinished) and llm:
        result = worked_by_llm(result)
    if isinstance(result, RunGraded):
        result = worked_by_llm(result) if llm else result
        given = dict(zip(("t1", "t2", "t3", "t4", "t5"), grades, strict=False))
        changed = (with_grade(each, given[each.task_id], samples) for each in result.grades)
        result = result.model_copy(update={"grades": tuple(changed)})
    return decide(validation, as_input(result), NOW)


def with_grade(grade: Grade, value: int, samples: Grades) -> Grade:
    return grade.model_copy(update={"grade": value, "samples": samples or ()})


def through(
    online: Grades,
    *repeats: Grades,
    llm: bool = True,
    samples: Grades = (),
    allowed: int = 2,
    full_test: bool = False,
) -> Decision:
    """A validation to its end with these grades online, and these in its repeats."""
    environment = an_environment("csv-analyzer") if full_test else an_environment()
    start = a_full_test(environment) if full_test else a_validation()
    decision = decide(start, Admitted(environment=environment, repeats=allowed), NOW)
    while decision.validation.step != "done":
        work = open_work(decision.validation)[0]
        grades: Grades = (5, 5, 5, 5, 5)
        taken: Grades = ()
        if work.step_id.endswith("online_grading"):
            grades, taken = online, samples
        if ".repeat_grading." in work.step_id:
            grades = repeats[int(work.step_id.rpartition(".")[2]) - 1]
        decision = answered(decision.validation, work, grades, llm=llm, samples=taken)
    return decision


@pytest.mark.parametrize(
    ("online", "repeats", "verdict", "completion"),
    [
        # Near the mark of the online run, from both sides.
        ((3, 3, 2), ((4, 4, 4), (4, 4, 4)), "passed", 75.0),
        ((3, 3, 2), ((2, 2, 2), (5, 5, 5)), "failed", 41.7),
        ((3, 3, 3), ((2, 2, 2), (2, 2, 2)), "failed", 25.0),
        ((3, 3, 3), ((4, 4, 4), (2, 2, 2)), "passed", 50.0),
    ],
)
def test_the_median_counts(
    online: Grades, repeats: tuple[Grades, Grades], verdict: str, completion: float
) -> None:
    validation = through(online, *repeats).validation
    assert validation.scores is not None
    assert (validation.verdict, validation.scores.completion) == (verdict, completion)
    assert difference(validation) is None
    found = build_report(validation).confidence
    assert found is not None
    assert found.repeats == 2
    assert found.repeated_because == "near_completion_mark"
    assert found.repeated_tasks == ("t1", "t2", "t3")
    assert (found.tries, found.samples) == (9, 9)


@pytest.mark.parametrize("online", [(5, 5, 5), (5, 4, 4), (1, 1, 1)])
def test_what_cannot_change_is_not_repeated(online: Grades) -> None:
    found = build_report(through(online).validation).confidence
    assert found is not None
    assert (found.repeats, found.repeated_because, found.could_change) == (0, None, False)
    assert found.spread == 4.2
    assert found.not_repeated_because is None


@pytest.mark.parametrize("online", [(3, 3, 2), (3, 3, 3), (5, 5, 5)])
def test_a_rehearsal_is_never_repeated(online: Grades) -> None:
    found = build_report(through(online, llm=False).validation).confidence
    assert found is not None
    assert (found.repeats, found.spread) == (0, 0.0)
    close = online != (5, 5, 5)
    assert found.not_repeated_because == ("rehearsal" if close else None)


def test_graders_that_lie_apart_have_the_task_repeated() -> None:
    validation = through((5, 5, 5), (5, 5, 5), (5, 5, 5), samples=(2, 5, 5)).validation
    found = build_report(validation).confidence
    assert found is not None
    assert found.repeated_because == "graders_apart"
    assert found.spread == 18.8
    assert found.by_task[0].samples == (2, 5, 5, 5, 5)


def test_repeats_can_be_switched_off_and_the_report_says_so() -> None:
    validation = through((3, 3, 2), allowed=0).validation
    found = build_report(validation).confidence
    assert validation.verdict == "failed"
    assert found is not None
    assert (found.not_repeated_because, found.could_change) == ("switched_off", True)


def test_a_full_test_repeats_every_task_and_tells_how_steady_it_is() -> None:
    done_once = (5, 5, 5, 5, 1), (5, 5, 5, 1, 1)
    validation = through((5, 5, 5, 5, 5), *done_once, full_test=True).validation
    found = build_report(validation).confidence
    assert found is not None
    assert found.repeated_because == "full_test"
    assert [(each.k, each.share) for each in found.pass_power] == [
        (1, 0.8),
        (2, 0.6667),
        (3, 0.6),
    ]


def repeating() -> Validation:
    decision = decide(a_validation(), Admitted(repeats=2), NOW)
    while decision.validation.step != "repeating":
        work = open_work(decision.validation)[0]
        decision = answered(decision.validation, work, (3, 3, 2), llm=True, samples=())
    return decision.validation


def test_repeats_go_side_by_side_in_the_environment_of_the_online_run() -> None:
    runs = open_work(repeating())
    assert [run.step_id.split(".", 1)[1] for run in runs] == ["repeat_run.1", "repeat_run.2"]
    for run in runs:
        assert isinstance(run, RunRequested)
        assert (run.kind, run.capture, run.base) == ("online", None, None)
        assert len(run.tasks) == 3


def test_a_repeat_that_cannot_be_carried_out_is_left_out() -> None:
    validation = repeating()
    for _ in range(6):
        if validation.step != "repeating":
            break
        work = open_work(validation)[0]
        validation = decide(validation, as_input(gone_wrong(work)), NOW).validation
    assert validation.verdict == "failed"
    assert validation.step == "reporting"
    found = build_report(validation).confidence
    assert found is not None
    assert found.not_repeated_because == "failed"


def test_the_time_that_repeats_take_is_given_back() -> None:
    validation = repeating()
    assert validation.deadline is not None
    late = validation.deadline + timedelta(seconds=1)
    after = decide(validation, DeadlinePassed(), late).validation
    assert after.step == "reporting"
    assert after.verdict == "failed"


def test_there_is_none_without_time_for_it() -> None:
    decision = decide(a_validation(), Admitted(repeats=2), NOW)
    assert decision.validation.deadline is not None
    decision = Decision(
        decision.validation.model_copy(update={"deadline": NOW + timedelta(seconds=20)})
    )
    while decision.validation.step not in ("reporting", "repeating"):
        work = open_work(decision.validation)[0]
        decision = answered(decision.validation, work, (3, 3, 2), llm=True, samples=())
    assert decision.validation.repeats_missing == "no_time"


def test_it_can_be_cancelled_meanwhile() -> None:
    ended = decide(repeating(), Cancelled(why="Cancelled by ann"), NOW)
    (completed,) = completions_in(ended)
    assert completed.verdict == "inconclusive"
