"""What every attempt cost is in the report once, whatever became of its result."""

from assay_contracts.base import Failure, ModelUse, Work
from assay_contracts.costs import CostReport, Price
from assay_contracts.runs import RunFinished
from assay_contracts.validations import ValidationPlanned
from assay_scorer.domain.conductor import decide
from assay_scorer.domain.decisions import Decision
from assay_scorer.domain.inputs import Admitted, Cancelled, WentQuiet
from assay_scorer.domain.money import MoneyRules
from assay_scorer.domain.report import build_report
from assay_testkit.scorer import (
    NOW,
    a_model,
    a_validation,
    an_environment,
    as_input,
    completions_in,
    gone_wrong,
    validation_at,
    well_done,
    work_in,
)

GPT = "openai:test-model"


def went_on(decision: Decision) -> Decision:
    """To the end, everything going well."""
    while decision.validation.step != "done":
        for work in [each.message for each in decision.outgoing if isinstance(each.message, Work)]:
            decision = decide(decision.validation, as_input(well_done(work)), NOW)
    return decision


def costs_of(decision: Decision) -> CostReport:
    found = build_report(decision.validation).costs
    assert found is not None
    return found


def a_use(calls: int = 1, **changes: object) -> ModelUse:
    return a_model("executor").model_copy(update={"calls": calls, "model": GPT, **changes})


def test_every_phase_is_charged_with_its_own() -> None:
    decision = decide(a_validation(), Admitted(environment=an_environment("alpha")), NOW)
    while decision.validation.step != "done":
        work = work_in(decision)
        result = well_done(work)
        if isinstance(result, RunFinished) and decision.validation.step == "online_run":
            result = result.model_copy(update={"near_miss_model": a_use(3)})
        decision = decide(decision.validation, as_input(result), NOW)
    found = costs_of(decision)
    calls = {(line.phase, line.use.role): line.use.calls for line in found.lines}
    assert calls == {
        ("planning", "planner"): 1,
        ("online", "executor"): 1,
        ("near_misses", "executor"): 3,
        ("grading", "grader"): 2,
        ("offline", "executor"): 1,
        ("regression", "executor"): 1,
        ("regression", "grader"): 1,
        ("reporting", "reporter"): 1,
    }
    assert found.calls == 11
    assert not found.unknown


def test_a_failed_attempt_is_paid_for_too() -> None:
    first = validation_at("online_run")
    failure = Failure.of("model", "it broke", costs=(a_use(7, unanswered=1),))
    failed = as_input(work_in(first).failed(failure))
    second = decide(first.validation, failed, NOW)
    again = decide(second.validation, failed, NOW)
    assert again == Decision(second.validation)
    found = costs_of(went_on(second))
    discarded = [line for line in found.lines if line.discarded]
    assert [(line.phase, line.use.calls, line.use.unanswered) for line in discarded] == [
        ("online", 7, 1)
    ]


def test_a_worker_that_died_and_work_that_was_lost_are_not_known_rather_than_free() -> None:
    decision = validation_at("online_run")
    decision = decide(
        decision.validation, as_input(gone_wrong(work_in(decision), "worker_died")), NOW
    )
    work = work_in(decision)
    quiet = WentQuiet(step_id=work.step_id, attempt=work.attempt)
    found = costs_of(went_on(decide(decision.validation, quiet, NOW)))
    assert [(each.phase, each.attempts) for each in found.unknown] == [("online", 2)]


def test_a_result_that_came_too_late_is_paid_for_and_known_then() -> None:
    first = validation_at("online_run")
    work = work_in(first)
    second = decide(first.validation, WentQuiet(step_id=work.step_id, attempt=work.attempt), NOW)
    won = decide(second.validation, as_input(well_done(work_in(second))), NOW)
    late = decide(won.validation, as_input(well_done(work)), NOW)
    found = costs_of(went_on(Decision(late.validation, won.outgoing)))
    assert [line.phase for line in found.lines if line.discarded] == ["online"]
    assert not found.unknown


def test_what_is_still_under_way_when_it_ends_is_not_known() -> None:
    decision = validation_at("online_run")
    ended = decide(decision.validation, Cancelled(why="Cancelled by ann"), NOW)
    assert [each.phase for each in costs_of(ended).unknown] == ["online"]


def test_money_goes_by_the_prices_of_models() -> None:
    prices = {GPT: Price(input=2.0, cached=0.5, output=10.0)}
    rules = MoneyRules(prices=prices)
    use = a_use(input_tokens=1_000_000, cached_tokens=400_000, output_tokens=100_000)
    assert rules.of(use) == 0.6 * 2 + 0.4 * 0.5 + 1.0
    assert rules.of(a_model("planner")) == 0.0
    assert rules.of(use.model_copy(update={"model": "openai:other"})) is None


def planned_for(money: float, model: str = GPT) -> Decision:
    """A validation whose plan cost 1 of that budget."""
    rules = MoneyRules(budget=money, prices={GPT: Price(input=1.0, output=1.0)})
    decision = decide(a_validation(), Admitted(money=rules), NOW)
    plan = well_done(work_in(decision))
    assert isinstance(plan, ValidationPlanned)
    cost = a_use(role="planner", input_tokens=1_000_000, model=model)
    return decide(decision.validation, as_input(plan.model_copy(update={"model": cost})), NOW)


def test_once_the_money_is_spent_nothing_more_is_asked() -> None:
    (completed,) = completions_in(planned_for(1.0))
    assert completed.verdict == "inconclusive"
    assert "ASSAY_VALIDATION_MONEY" in completed.reason
    assert costs_of(planned_for(1.0)).money == 1.0


def test_work_may_use_what_is_left_of_the_money() -> None:
    assert work_in(planned_for(1.5)).token_budget == 500_000


def test_a_model_without_a_price_is_named() -> None:
    found = costs_of(went_on(planned_for(1.0, model="openai:other")))
    assert found.money is None
    assert found.unpriced == ("openai:other",)


def test_a_verdict_that_stands_is_kept_when_the_money_is_spent() -> None:
    decision = planned_for(1.5)
    while decision.validation.step != "offline_grading":
        decision = decide(decision.validation, as_input(well_done(work_in(decision))), NOW)
    graded = well_done(work_in(decision)).model_copy(
        update={"model": a_use(role="grader", input_tokens=600_000)}
    )
    (completed,) = completions_in(decide(decision.validation, as_input(graded), NOW))
    assert completed.verdict == "passed"
