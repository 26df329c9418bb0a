"""The conductor, with every input at every step, in any order."""

from datetime import timedelta

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

from assay_contracts.base import Work
from assay_contracts.grades import RunGraded
from assay_contracts.runs import Package, RunFinished, RunRequested
from assay_contracts.skills import Dependencies
from assay_contracts.validations import CleanupRequested, ValidationCompleted, ValidationPlanned
from assay_scorer.domain.conductor import decide
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
    as_input,
    gone_wrong,
    planned_by_llm,
    well_done,
    worked_by_llm,
)

NAMES = ("alpha", "beta", "gamma")


UNITLIB = tuple(Package(ecosystem="pip", name="unitlib", version=each) for each in ("1.0", "2.0"))


class Bus(RuleBasedStateMachine):
    """Work and facts in any order, twice, late, lost, or failed, with the clock running on."""

    works = Bundle("works")

    @initialize(
        target=works,
        approved=st.integers(0, 3),
        full_test=st.booleans(),
        clashes=st.booleans(),
        controlled=st.booleans(),
        min_lift=st.sampled_from([None, -1.0, 1.0]),
    )
    def begin(
        self,
        approved: int,
        full_test: bool,
        clashes: bool,
        controlled: bool,
        min_lift: float | None,
    ) -> Work:
        """If it clashes, it replaces a package that all approved skills need."""
        self.controlled = controlled
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
        admitted = Admitted(environment=environment, control=True, min_lift=min_lift, repeats=2)
        self._take(admitted)
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
        if isinstance(result, ValidationPlanned) and self.controlled:
            result = planned_by_llm(result)
        if isinstance(result, RunGraded) and self.controlled:
            result = worked_by_llm(result)
        if isinstance(result, RunFinished) and self.controlled:
            result = worked_by_llm(result)
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
        several = len(self.validation.awaited) > 1
        assert not several or self.validation.step in ("regression", "mending", "repeating")

    @invariant()
    def a_control_needs_an_llm_and_a_verdict_only_waits_where_a_lift_is_demanded(self) -> None:
        if self.validation.control is not None:
            assert self.controlled
            assert not self.validation.is_full_test
        if self.validation.step != "done" and not self.validation.awaited:
            assert self.validation.min_lift is not None
            assert self.validation.passes_because is not None

    @invariant()
    def repeats_need_an_llm_are_bounded_and_are_asked_for_once(self) -> None:
        repeats = self.validation.repeats
        if repeats is not None:
            assert self.controlled
            assert len(repeats.tries) == 2
        numbers = {work.step_id for work in self.queue if ".repeat_run." in work.step_id}
        assert len(numbers) <= 2

    @invariant()
    def each_attempt_is_charged_once(self) -> None:
        charged = [(each.key, each.attempt) for each in self.validation.ledger]
        assert len(charged) == len(set(charged))

    @invariant()
    def a_full_test_works_in_the_background_and_leaves_the_others_alone(self) -> None:
        lanes = {piece.lane for piece in self.validation.awaited}
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
            assert all(each.is_known for each in self.validation.regressions)
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
            assert self.validation.verdict == expected or self.validation.min_lift is not None
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
