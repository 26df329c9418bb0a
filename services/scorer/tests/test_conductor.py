"""The conductor: the straight way, every way it can fail, and every fact at every step."""

from datetime import timedelta

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from assay_contracts.base import Failure, Result, Work
from assay_contracts.reports import ReportRequested
from assay_contracts.runs import Package, RunFinished, RunRequested
from assay_contracts.skills import Dependencies
from assay_contracts.validations import CleanupRequested, ProgressStep, ValidationCompleted
from assay_scorer.domain.conductor import decide
from assay_scorer.domain.decisions import Decision
from assay_scorer.domain.failures import TRIES
from assay_scorer.domain.inputs import (
    Admitted,
    Cancelled,
    ConductorInput,
    DeadlinePassed,
    WentQuiet,
)
from assay_scorer.domain.validation import Validation
from assay_scorer.domain.work import open_work
from assay_testkit.scorer import (
    NOW,
    a_full_test,
    a_validation,
    an_environment,
    gone_wrong,
    well_done,
)

STEPS: tuple[ProgressStep, ...] = (
    "planning",
    "online_run",
    "online_grading",
    "offline_run",
    "offline_grading",
    "reporting",
)
NAMES = ("alpha", "beta", "gamma")
UNITLIB = tuple(Package(ecosystem="pip", name="unitlib", version=each) for each in ("1.0", "2.0"))
LATER = NOW + timedelta(hours=1)


def work_in(decision: Decision) -> Work:
    (work,) = [o.message for o in decision.outgoing if isinstance(o.message, Work)]
    return work


def as_input(result: Result) -> ConductorInput:
    assert isinstance(result, ConductorInput)
    return result


def started() -> Decision:
    return decide(a_validation(), Admitted(), NOW)


def at(step: ProgressStep) -> Decision:
    """The decision that asked for `step`."""
    decision = started()
    while decision.validation.step != step:
        decision = decide(decision.validation, as_input(well_done(work_in(decision))), NOW)
    return decision


def completions(decision: Decision) -> list[ValidationCompleted]:
    return [o.message for o in decision.outgoing if isinstance(o.message, ValidationCompleted)]


def test_a_good_skill_goes_through_every_step_and_passes() -> None:
    decision, seen = started(), []
    while decision.validation.step != "done":
        seen.append(decision.validation.step)
        decision = decide(decision.validation, as_input(well_done(work_in(decision))), NOW)
    assert tuple(seen) == STEPS
    (completed,) = completions(decision)
    assert completed.verdict == "passed"
    assert completed.scores is not None
    assert completed.scores.overall == 100.0
    assert completed.models == ("rehearsal:1",)
    assert completed.timings.command_seconds == 1.0
    assert decision.validation.skill_status == "pending"
    assert decision.validation.stage == "completed"


def test_the_offline_run_starts_from_what_the_online_run_left() -> None:
    online = work_in(at("online_run"))
    offline = work_in(at("offline_run"))
    assert isinstance(online, RunRequested)
    assert isinstance(offline, RunRequested)
    assert (online.kind, online.base) == ("online", None)
    assert offline.kind == "offline"
    assert offline.capture is None
    assert offline.base is not None
    assert offline.base.startswith(str(offline.validation_id))


def test_without_completion_there_is_no_offline_run() -> None:
    decision = at("online_grading")
    decision = decide(decision.validation, as_input(well_done(work_in(decision), grade=2)), NOW)
    assert isinstance(work_in(decision), ReportRequested)
    decision = decide(decision.validation, as_input(well_done(work_in(decision))), NOW)
    (completed,) = completions(decision)
    assert completed.verdict == "failed"
    assert completed.scores is not None
    assert completed.scores.offline is None
    assert "no offline run" in completed.reason
    assert decision.validation.skill_status == "rejected"


def test_network_calls_can_cost_the_verdict() -> None:
    decision = at("offline_run")
    decision = decide(decision.validation, as_input(well_done(work_in(decision), calls=3)), NOW)
    decision = decide(decision.validation, as_input(well_done(work_in(decision))), NOW)
    assert decision.validation.scores is not None
    assert decision.validation.scores.offline == 0.0
    assert decision.validation.scores.overall == 85.0


def test_a_skill_nobody_uses_fails() -> None:
    decision = at("online_run")
    decision = decide(decision.validation, as_input(well_done(work_in(decision), used=False)), NOW)
    while decision.validation.step != "done":
        decision = decide(decision.validation, as_input(well_done(work_in(decision))), NOW)
    assert decision.validation.verdict == "failed"
    assert decision.validation.reason == "The overall score 65 is below 70."


@pytest.mark.parametrize("step", STEPS)
def test_a_failure_of_ours_is_tried_again_with_growing_delay(step: ProgressStep) -> None:
    decision, delays = at(step), []
    for _ in range(TRIES - 1):
        decision = decide(decision.validation, as_input(gone_wrong(work_in(decision))), NOW)
        assert decision.validation.step == step
        delays.append(decision.outgoing[0].delay)
    assert delays == [timedelta(seconds=2), timedelta(seconds=4)]
    assert work_in(decision).attempt == TRIES


@pytest.mark.parametrize("step", STEPS[:-1])
def test_a_failure_of_ours_ends_inconclusive_and_without_a_score(step: ProgressStep) -> None:
    decision = at(step)
    for _ in range(TRIES):
        decision = decide(decision.validation, as_input(gone_wrong(work_in(decision))), NOW)
    (completed,) = completions(decision)
    assert completed.verdict == "inconclusive"
    assert completed.scores is None
    assert "it broke" in completed.reason
    assert decision.validation.skill_status == "pending"


def test_a_report_that_cannot_be_written_does_not_change_the_verdict() -> None:
    decision = at("reporting")
    for _ in range(TRIES):
        decision = decide(
            decision.validation, as_input(gone_wrong(work_in(decision), "model")), NOW
        )
    (completed,) = completions(decision)
    assert completed.verdict == "passed"
    assert decision.validation.prose is None


@pytest.mark.parametrize("step", STEPS)
def test_a_worker_that_stops_in_good_order_costs_nothing(step: ProgressStep) -> None:
    decision = at(step)
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
    decision = at(step)
    given = as_input(gone_wrong(work_in(decision), "worker_died"))
    decision = decide(decision.validation, given, NOW)
    assert work_in(decision).lane == "solo"
    assert work_in(decision).subject().endswith(".solo")
    given = as_input(gone_wrong(work_in(decision), "worker_died"))
    decision = decide(decision.validation, given, NOW)
    assert completions(decision)[0].verdict == "inconclusive"


def test_the_next_step_is_back_in_the_shared_lane() -> None:
    decision = at("planning")
    given = as_input(gone_wrong(work_in(decision), "worker_died"))
    decision = decide(decision.validation, given, NOW)
    decision = decide(decision.validation, as_input(well_done(work_in(decision))), NOW)
    assert work_in(decision).lane == "shared"


@pytest.mark.parametrize("step", STEPS)
def test_lost_work_is_asked_for_again(step: ProgressStep) -> None:
    decision = at(step)
    work = work_in(decision)
    lost = WentQuiet(step_id=work.step_id, attempt=work.attempt)
    again = decide(decision.validation, lost, NOW)
    assert work_in(again).attempt == work.attempt + 1
    assert decide(again.validation, lost, NOW) == Decision(again.validation)


@pytest.mark.parametrize("step", STEPS)
def test_the_deadline_ends_what_is_left(step: ProgressStep) -> None:
    decision = at(step)
    assert decide(decision.validation, DeadlinePassed(), NOW) == Decision(decision.validation)
    ended = decide(decision.validation, DeadlinePassed(), LATER)
    (completed,) = completions(ended)
    assert completed.verdict == ("passed" if step == "reporting" else "inconclusive")


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("other", STEPS)
def test_a_result_for_another_step_changes_nothing(step: ProgressStep, other: ProgressStep) -> None:
    decision = at(step)
    if other == step:
        return
    foreign = well_done(work_in(at(other)))
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
    first = at(step)
    second = decide(first.validation, as_input(gone_wrong(work_in(first))), NOW)
    stale_failure = as_input(gone_wrong(work_in(first)))
    assert decide(second.validation, stale_failure, NOW) == Decision(second.validation)
    late_success = as_input(well_done(work_in(first)))
    assert decide(second.validation, late_success, NOW).validation.step != step


def test_a_candidate_that_lost_the_race_is_cleaned_up() -> None:
    first = at("online_run")
    second = decide(first.validation, as_input(gone_wrong(work_in(first))), NOW)
    won = decide(second.validation, as_input(well_done(work_in(second))), NOW)
    late = decide(won.validation, as_input(well_done(work_in(first))), NOW)
    assert late.validation == won.validation
    ((cleanup),) = late.outgoing
    assert isinstance(cleanup.message, CleanupRequested)
    (snapshot,) = cleanup.message.snapshots
    assert snapshot != won.validation.candidate


def test_the_candidate_is_kept_for_review_and_deleted_otherwise() -> None:
    passed = at("reporting")
    done = decide(passed.validation, as_input(well_done(work_in(passed))), NOW)
    assert not [o for o in done.outgoing if isinstance(o.message, CleanupRequested)]

    poor = at("online_grading")
    poor = decide(poor.validation, as_input(well_done(work_in(poor), grade=1)), NOW)
    done = decide(poor.validation, as_input(well_done(work_in(poor))), NOW)
    cleanups = [o.message for o in done.outgoing if isinstance(o.message, CleanupRequested)]
    assert [c.snapshots for c in cleanups] == [(done.validation.candidate,)]


class Bus(RuleBasedStateMachine):
    """Work and facts in any order, twice, late, lost, or failed, with the clock running on."""

    works = Bundle("works")

    @initialize(
        target=works, approved=st.integers(0, 3), full_test=st.booleans(), clashes=st.booleans()
    )
    def begin(self, approved: int, full_test: bool, clashes: bool) -> Work:
        """If it clashes, it replaces a package that all approved skills need."""
        self.now = NOW
        self.said: list[ValidationCompleted] = []
        self.snapshots: set[str] = set()
        self.cleaned: set[str] = set()
        self.queue: list[Work] = []
        self.clashes = clashes
        needed = Dependencies(pip=("unitlib",) if clashes else ())
        environment = an_environment(*NAMES[:approved], dependencies=needed)
        self.validation: Validation = a_validation()
        if full_test and approved:
            self.validation = a_full_test(environment)
        self._take(Admitted(environment=environment))
        return self.queue[-1]

    def _take(self, given: ConductorInput) -> None:
        decision = decide(self.validation, given, self.now)
        self.validation = decision.validation
        for outgoing in decision.outgoing:
            match outgoing.message:
                case ValidationCompleted():
                    self.said.append(outgoing.message)
                case CleanupRequested():
                    self.cleaned.update(outgoing.message.snapshots)
                case Work():
                    self.queue.append(outgoing.message)

    @rule(target=works, back=st.integers(1, 4))
    def work_asked_for(self, back: int) -> Work:
        return self.queue[-min(back, len(self.queue))]

    @rule(work=works, grade=st.integers(1, 5), calls=st.integers(0, 4), used=st.booleans())
    def finish(self, work: Work, grade: int, calls: int, used: bool) -> None:
        result = well_done(work, grade=grade, calls=calls, used=used)
        if isinstance(result, RunFinished):
            result = self._with_packages(work, result, puts_back=not used)
            if result.candidate:
                self.snapshots.add(result.candidate)
        self._take(as_input(result))

    def _with_packages(self, work: Work, result: RunFinished, *, puts_back: bool) -> RunFinished:
        assert isinstance(work, RunRequested)
        if not self.clashes:
            return result
        replaced = work.kind == "online" or (work.kind == "regression" and puts_back)
        after = (UNITLIB[1 if replaced else 0],)
        return result.model_copy(update={"packages_before": UNITLIB[:1], "packages_after": after})

    @precondition(lambda self: self.clashes)
    @rule(retests=st.integers(0, 10))
    def break_and_mend(self, retests: int) -> None:
        """As far as layer 2, where every skill breaks, and then some way through mending."""
        for _ in range(20):
            if self.validation.step in ("reporting", "done"):
                return
            mending = self.validation.step == "mending"
            if mending and (retests := retests - 1) < 0:
                return
            work = open_work(self.validation)[0]
            breaks = self.validation.step == "regression"
            self.finish(work, grade=1 if breaks else 5, calls=0, used=True)

    @precondition(lambda self: self.validation.step == "mending")
    @rule()
    def fail_to_install(self) -> None:
        work = open_work(self.validation)[0]
        result = well_done(work)
        if isinstance(result, RunFinished) and isinstance(work, RunRequested) and work.install:
            refused = {"install_failure": "no such version", "candidate": None}
            self._take(as_input(result.model_copy(update=refused)))

    @rule(count=st.integers(1, 8))
    def go_on_well(self, count: int) -> None:
        """Far enough, often enough, to see layer 2."""
        for _ in range(count):
            if open_now := open_work(self.validation):
                self.finish(open_now[0], grade=5, calls=0, used=True)

    @rule(
        work=works,
        category=st.sampled_from(["sandbox", "model", "timeout", "worker_died", "handed_over"]),
    )
    def fail(self, work: Work, category: str) -> None:
        self._take(as_input(gone_wrong(work, category)))

    @rule(work=works)
    def lose(self, work: Work) -> None:
        self._take(WentQuiet(step_id=work.step_id, attempt=work.attempt))

    @rule(seconds=st.integers(1, 200))
    def wait(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)
        self._take(DeadlinePassed())

    @precondition(lambda self: len(self.queue) > 6)
    @rule()
    def cancel(self) -> None:
        self._take(Cancelled(why="Cancelled by admin"))

    @invariant()
    def completed_at_most_once_and_only_when_done(self) -> None:
        assert len(self.said) == (1 if self.validation.step == "done" else 0)

    @invariant()
    def open_work_is_always_out_and_the_newest_of_its_kind(self) -> None:
        newest = {work.step_id: work.dedup_key() for work in self.queue}
        open_now = {work.step_id: work.dedup_key() for work in open_work(self.validation)}
        assert open_now.items() <= newest.items()
        assert bool(open_now) == (self.validation.step != "done")
        assert len(open_now) <= 1 or self.validation.step in ("regression", "mending")

    @invariant()
    def a_full_test_works_in_the_background_and_leaves_the_others_alone(self) -> None:
        lanes = {piece.lane for piece in self.validation.pieces}
        if self.validation.is_full_test:
            assert lanes <= {"background", "solo"}
            assert not self.validation.regressions
        else:
            assert lanes <= {"shared", "solo"}

    @invariant()
    def a_passed_skill_broke_no_other(self) -> None:
        if self.validation.verdict == "passed" and not self.validation.is_full_test:
            assert self.validation.layer1_passed
            assert self.validation.layer2_passed
            assert all(each.graded for each in self.validation.regressions)
            assert len(self.validation.regressions) == len(self.validation.environment.approved)

    @invariant()
    def every_candidate_has_an_owner_or_is_cleaned_up(self) -> None:
        reviewed = self.validation.verdict == "passed" and not self.validation.is_full_test
        owned = self.validation.step != "done" or reviewed
        kept = self.validation.snapshots if owned else frozenset()
        assert self.snapshots - self.cleaned <= kept
        assert not self.cleaned & kept

    @invariant()
    def mending_never_makes_it_worse(self) -> None:
        mending = self.validation.mending
        if mending is not None and self.validation.verdict is not None:
            expected = "passed" if mending.outcome == "mended" else "failed"
            assert self.validation.verdict == expected
            assert self.validation.candidate != mending.snapshot or expected == "passed"

    def teardown(self) -> None:
        for _ in range(3):  # mending, the report, and nothing more
            self.now += timedelta(days=1)
            self._take(DeadlinePassed())
        assert self.validation.step == "done"
        assert len(self.said) == 1


def test_any_order_of_facts_ends_in_exactly_one_completion() -> None:
    run_state_machine_as_test(
        Bus, settings=settings(max_examples=200, stateful_step_count=40, deadline=None)
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
    failed = work.failed(Failure.of("model", "it broke", tokens=120))
    assert work_in(decide(decision.validation, as_input(failed), NOW)).token_budget == 30


def test_without_a_budget_nothing_is_bounded() -> None:
    assert work_in(started()).token_budget is None


def test_a_spent_budget_is_inconclusive_at_once_and_never_a_zero() -> None:
    decision = at("online_grading")
    spent = work_in(decision).failed(Failure.of("budget", "The tokens are used up."))
    ended = decide(decision.validation, as_input(spent), NOW)
    (completed,) = completions(ended)
    assert completed.verdict == "inconclusive"
    assert completed.scores is None
    assert "The tokens are used up." in completed.reason


def test_a_report_that_would_cost_too_much_is_left_unwritten() -> None:
    decision = at("reporting")
    spent = work_in(decision).failed(Failure.of("budget", "The tokens are used up."))
    (completed,) = completions(decide(decision.validation, as_input(spent), NOW))
    assert completed.verdict == "passed"
