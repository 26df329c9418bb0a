"""What models may use for each step of a validation."""

from assay_contracts.base import Failure
from assay_contracts.runs import RunFinished
from assay_scorer.domain.conductor import decide
from assay_scorer.domain.inputs import (
    Admitted,
)
from assay_testkit.scorer import (
    NOW,
    a_model,
    a_validation,
    as_input,
    completions_in,
    validation_at,
    well_done,
    work_in,
)


def test_every_step_gets_its_share_of_the_tokens_and_what_is_left_over() -> None:
    decision = decide(a_validation(), Admitted(token_budget=1000), NOW)
    allowed = []
    while decision.validation.step != "done":
        work = work_in(decision)
        allowed.append(work.token_budget)
        result = well_done(work)
        if isinstance(result, RunFinished):
            assert result.model is not None
            costly = result.model.model_copy(update={"input_tokens": 300, "output_tokens": 50})
            result = result.model_copy(update={"model": costly})
        decision = decide(decision.validation, as_input(result), NOW)
    # 15 | 15+30 | +10 less 350 | +30 less 350 | +10 less 700 | all less 700
    assert allowed == [150, 450, 200, 500, 250, 300]


def test_tokens_of_failed_attempts_are_gone_too() -> None:
    decision = decide(a_validation(), Admitted(token_budget=1000), NOW)
    work = work_in(decision)
    spent = a_model("planner").model_copy(update={"input_tokens": 100, "output_tokens": 20})
    failed = work.failed(Failure.of("model", "it broke", costs=(spent,)))
    assert work_in(decide(decision.validation, as_input(failed), NOW)).token_budget == 30


def test_without_a_budget_nothing_is_bounded() -> None:
    assert work_in(validation_at("planning")).token_budget is None


def test_a_spent_budget_is_inconclusive_at_once_and_never_a_zero() -> None:
    decision = validation_at("online_grading")
    spent = work_in(decision).failed(Failure.of("budget", "The tokens are used up."))
    ended = decide(decision.validation, as_input(spent), NOW)
    (completed,) = completions_in(ended)
    assert completed.verdict == "inconclusive"
    assert completed.scores is None
    assert "The tokens are used up." in completed.reason


def test_a_report_that_would_cost_too_much_is_left_unwritten() -> None:
    decision = validation_at("reporting")
    spent = work_in(decision).failed(Failure.of("budget", "The tokens are used up."))
    (completed,) = completions_in(decide(decision.validation, as_input(spent), NOW))
    assert completed.verdict == "passed"
