"""The conductor: the straight way, and every way it can fail."""

from datetime import timedelta

import pytest

from assay_contracts.reports import ReportRequested
from assay_contracts.runs import RunFinished, RunRequested
from assay_contracts.validations import CleanupRequested, ProgressStep
from assay_scorer.domain.conductor import decide
from assay_scorer.domain.decisions import Decision
from assay_scorer.domain.failures import TRIES
from assay_scorer.domain.inputs import (
    DeadlinePassed,
    WentQuiet,
)
from assay_testkit.scorer import (
    NOW,
    as_input,
    completions_in,
    gone_wrong,
    validation_at,
    well_done,
    work_in,
)

STEPS: tuple[ProgressStep, ...] = (
    "planning",
    "online_run",
    "online_grading",
    "offline_run",
    "offline_grading",
    "reporting",
)


LATER = NOW + timedelta(hours=1)


def test_a_good_skill_goes_through_every_step_and_passes() -> None:
    decision, seen = validation_at("planning"), []
    while decision.validation.step != "done":
        seen.append(decision.validation.step)
        decision = decide(decision.validation, as_input(well_done(work_in(decision))), NOW)
    assert tuple(seen) == STEPS
    (completed,) = completions_in(decision)
    assert completed.verdict == "passed"
    assert completed.scores is not None
    assert completed.scores.overall == 100.0
    assert completed.models == ("rehearsal:1",)
    assert completed.timings.command_seconds == 1.0
    assert decision.validation.skill_status == "pending"
    assert decision.validation.stage == "completed"


def test_the_offline_run_starts_from_what_the_online_run_left() -> None:
    online = work_in(validation_at("online_run"))
    offline = work_in(validation_at("offline_run"))
    assert isinstance(online, RunRequested)
    assert isinstance(offline, RunRequested)
    assert (online.kind, online.base) == ("online", None)
    assert offline.kind == "offline"
    assert offline.capture is None
    assert offline.base is not None
    assert offline.base.startswith(str(offline.validation_id))


def test_without_completion_there_is_no_offline_run() -> None:
    decision = validation_at("online_grading")
    decision = decide(decision.validation, as_input(well_done(work_in(decision), grade=2)), NOW)
    assert isinstance(work_in(decision), ReportRequested)
    decision = decide(decision.validation, as_input(well_done(work_in(decision))), NOW)
    (completed,) = completions_in(decision)
    assert completed.verdict == "failed"
    assert completed.scores is not None
    assert completed.scores.offline is None
    assert "no offline run" in completed.reason
    assert decision.validation.skill_status == "rejected"


def test_network_calls_can_cost_the_verdict() -> None:
    decision = validation_at("offline_run")
    decision = decide(decision.validation, as_input(well_done(work_in(decision), calls=3)), NOW)
    decision = decide(decision.validation, as_input(well_done(work_in(decision))), NOW)
    assert decision.validation.scores is not None
    assert decision.validation.scores.offline == 0.0
    assert decision.validation.scores.overall == 85.0


def test_a_skill_nobody_uses_fails() -> None:
    decision = validation_at("online_run")
    decision = decide(decision.validation, as_input(well_done(work_in(decision), used=False)), NOW)
    while decision.validation.step != "done":
        decision = decide(decision.validation, as_input(well_done(work_in(decision))), NOW)
    assert decision.validation.verdict == "failed"
    assert decision.validation.reason == "The overall score 65 is below 70."


@pytest.mark.parametrize("step", STEPS)
def test_a_failure_of_ours_is_tried_again_with_growing_delay(step: ProgressStep) -> None:
    decision, delays = validation_at(step), []
    for _ in range(TRIES - 1):
        decision = decide(decision.validation, as_input(gone_wrong(work_in(decision))), NOW)
        assert decision.validation.step == step
        delays.append(decision.outgoing[0].delay)
    assert delays == [timedelta(seconds=2), timedelta(seconds=4)]
    assert work_in(decision).attempt == TRIES


@pytest.mark.parametrize("step", STEPS[:-1])
def test_a_failure_of_ours_ends_inconclusive_and_without_a_score(step: ProgressStep) -> None:
    decision = validation_at(step)
    for _ in range(TRIES):
        decision = decide(decision.validation, as_input(gone_wrong(work_in(decision))), NOW)
    (completed,) = completions_in(decision)
    assert completed.verdict == "inconclusive"
    assert completed.scores is None
    assert "it broke" in completed.reason
    assert decision.validation.skill_status == "pending"


def test_a_report_that_cannot_be_written_does_not_change_the_verdict() -> None:
    decision = validation_at("reporting")
    for _ in range(TRIES):
        decision = decide(
            decision.validation, as_input(gone_wrong(work_in(decision), "model")), NOW
        )
    (completed,) = completions_in(decision)
    assert completed.verdict == "passed"
    assert decision.validation.prose is None


@pytest.mark.parametrize("step", STEPS)
def test_a_worker_that_stops_in_good_order_costs_nothing(step: ProgressStep) -> None:
    decision = validation_at(step)
    for _ in range(TRIES + 2):
        given = as_input(gone_wrong(work_in(decision), "handed_over"))
        decision = decide(decision.validation, given, NOW)
    assert decision.validation.step == step
    assert [piece.failures for piece in decision.validation.pieces] == [0]
    assert decision.outgoing[0].delay == timedelta(0)


@pytest.mark.parametrize("step", STEPS[:-1])
def test_work_that_kills_workers_is_tried_alone_and_only_there_given_up(
    step: ProgressStep,
) -> None:
    decision = validation_at(step)
    given = as_input(gone_wrong(work_in(decision), "worker_died"))
    decision = decide(decision.validation, given, NOW)
    assert work_in(decision).lane == "solo"
    assert work_in(decision).subject().endswith(".solo")
    given = as_input(gone_wrong(work_in(decision), "worker_died"))
    decision = decide(decision.validation, given, NOW)
    assert completions_in(decision)[0].verdict == "inconclusive"


def test_the_next_step_is_back_in_the_shared_lane() -> None:
    decision = validation_at("planning")
    given = as_input(gone_wrong(work_in(decision), "worker_died"))
    decision = decide(decision.validation, given, NOW)
    decision = decide(decision.validation, as_input(well_done(work_in(decision))), NOW)
    assert work_in(decision).lane == "shared"


@pytest.mark.parametrize("step", STEPS)
def test_lost_work_is_asked_for_again(step: ProgressStep) -> None:
    decision = validation_at(step)
    work = work_in(decision)
    lost = WentQuiet(step_id=work.step_id, attempt=work.attempt)
    again = decide(decision.validation, lost, NOW)
    assert work_in(again).attempt == work.attempt + 1
    assert decide(again.validation, lost, NOW) == Decision(again.validation)


@pytest.mark.parametrize("step", STEPS)
def test_the_deadline_ends_what_is_left(step: ProgressStep) -> None:
    decision = validation_at(step)
    assert decide(decision.validation, DeadlinePassed(), NOW) == Decision(decision.validation)
    ended = decide(decision.validation, DeadlinePassed(), LATER)
    (completed,) = completions_in(ended)
    assert completed.verdict == ("passed" if step == "reporting" else "inconclusive")


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("other", STEPS)
def test_a_result_for_another_step_changes_nothing(step: ProgressStep, other: ProgressStep) -> None:
    decision = validation_at(step)
    if other == step:
        return
    foreign = well_done(work_in(validation_at(other)))
    mine = foreign.model_copy(
        update={
            "validation_id": decision.validation.validation_id,
            "step_id": f"{decision.validation.validation_id}.{other}",
            "candidate": None,
        }
        if isinstance(foreign, RunFinished)
        else {"step_id": f"{decision.validation.validation_id}.{other}"}
    )
    assert decide(decision.validation, as_input(mine), NOW) == Decision(decision.validation)


@pytest.mark.parametrize("step", STEPS)
def test_an_old_attempt_may_succeed_but_not_fail(step: ProgressStep) -> None:
    first = validation_at(step)
    second = decide(first.validation, as_input(gone_wrong(work_in(first))), NOW)
    stale_failure = as_input(gone_wrong(work_in(first)))
    assert decide(second.validation, stale_failure, NOW) == Decision(second.validation)
    late_success = as_input(well_done(work_in(first)))
    assert decide(second.validation, late_success, NOW).validation.step != step


def test_a_candidate_that_lost_the_race_is_cleaned_up() -> None:
    first = validation_at("online_run")
    second = decide(first.validation, as_input(gone_wrong(work_in(first))), NOW)
    won = decide(second.validation, as_input(well_done(work_in(second))), NOW)
    late = decide(won.validation, as_input(well_done(work_in(first))), NOW)
    assert late.validation.step == won.validation.step
    assert late.validation.online == won.validation.online
    ((cleanup),) = late.outgoing
    assert isinstance(cleanup.message, CleanupRequested)
    (snapshot,) = cleanup.message.snapshots
    assert snapshot != won.validation.candidate


def test_the_candidate_is_kept_for_review_and_deleted_otherwise() -> None:
    passed = validation_at("reporting")
    done = decide(passed.validation, as_input(well_done(work_in(passed))), NOW)
    assert not [o for o in done.outgoing if isinstance(o.message, CleanupRequested)]

    poor = validation_at("online_grading")
    poor = decide(poor.validation, as_input(well_done(work_in(poor), grade=1)), NOW)
    done = decide(poor.validation, as_input(well_done(work_in(poor))), NOW)
    cleanups = [o.message for o in done.outgoing if isinstance(o.message, CleanupRequested)]
    assert [c.snapshots for c in cleanups] == [(done.validation.candidate,)]
