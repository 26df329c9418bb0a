"""A skill's part in a full test, and what is said of one that got worse. No database."""

from datetime import timedelta

import pytest

from assay_contracts.base import Result, Work
from assay_contracts.grades import RunGraded
from assay_contracts.runs import NetworkCall, Package, RunFinished, RunRequested
from assay_contracts.skills import Dependencies
from assay_contracts.validations import (
    CleanupRequested,
    ValidationCompleted,
    ValidationRequested,
)
from assay_scorer.domain.conductor import decide
from assay_scorer.domain.decisions import Decision
from assay_scorer.domain.environment import Environment
from assay_scorer.domain.full_tests import MOST_PACKAGES, changes_since, outcome_of
from assay_scorer.domain.inputs import Admitted, ConductorInput, DeadlinePassed
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


def taken(validation: Validation, result: Result) -> Decision:
    assert isinstance(result, ConductorInput)
    return decide(validation, result, NOW)


def run_through(validation: Validation, *, grade: int = 5, used: bool = True) -> list[Decision]:
    """Every decision from its start to its end, all work answered alike."""
    decisions = [decide(validation, Admitted(environment=an_environment("other")), NOW)]
    while work := open_work(decisions[-1].validation):
        answer = well_done(work[0], grade=grade, used=used)
        decisions.append(taken(decisions[-1].validation, answer))
    return decisions


def asked(decisions: list[Decision]) -> list[Work]:
    return [
        outgoing.message
        for decision in decisions
        for outgoing in decision.outgoing
        if isinstance(outgoing.message, Work)
    ]


def whole(environment: Environment, *, grade: int = 5, used: bool = True) -> Validation:
    return run_through(a_full_test(environment), grade=grade, used=used)[-1].validation


def test_stored_tasks_come_first_and_two_new_ones_are_asked_for() -> None:
    environment = an_environment("alpha", "beta")
    decisions = run_through(a_full_test(environment))
    work = asked(decisions)
    (plan,) = [each for each in work if isinstance(each, ValidationRequested)]
    assert plan.known_tasks == environment.approved[0].tasks
    assert plan.task_count == 2
    runs = [each for each in work if isinstance(each, RunRequested)]
    assert [(run.kind, [task.task_id for task in run.tasks]) for run in runs] == [
        ("online", ["t1", "t2", "t3", "t4", "t5"]),
        ("offline", ["t1", "t2", "t3", "t4", "t5"]),
    ]
    assert decisions[-1].validation.tasks[:3] == environment.approved[0].tasks


def test_it_stays_in_the_environment_it_was_queued_with_and_tests_nobody_else() -> None:
    environment = an_environment("alpha", "beta")
    decisions = run_through(a_full_test(environment))
    online = next(each for each in asked(decisions) if isinstance(each, RunRequested))
    assert online.base == environment.snapshot
    assert [skill.name for skill in online.skills] == ["beta", "alpha"]
    done = decisions[-1].validation
    assert (done.verdict, done.layer1_passed, done.layer2_passed) == ("passed", True, None)
    assert done.skill_status == "approved"


@pytest.mark.parametrize("grade", [1, 5])
def test_no_candidate_is_left_whatever_the_verdict(grade: int) -> None:
    decisions = run_through(a_full_test(an_environment("alpha")), grade=grade)
    cleanups = [each for each in asked(decisions) if isinstance(each, CleanupRequested)]
    assert [each.snapshots for each in cleanups] == [(decisions[-1].validation.candidate,)]
    completed = [
        outgoing.message
        for outgoing in decisions[-1].outgoing
        if isinstance(outgoing.message, ValidationCompleted)
    ]
    assert [each.kind for each in completed] == ["full_test"]
    assert "/validations/" in completed[0].report.url


def test_all_its_work_goes_to_the_background_and_from_there_to_the_solo_lane() -> None:
    decisions = run_through(a_full_test(an_environment("alpha")))
    assert {work.lane for work in asked(decisions)} == {"background"}
    first = decisions[0].validation
    died = taken(first, gone_wrong(open_work(first)[0], "worker_died"))
    assert [work.subject() for work in asked([died])] == ["validation.requested.solo"]
    again = taken(died.validation, gone_wrong(open_work(died.validation)[0], "worker_died"))
    assert again.validation.verdict == "inconclusive"


def test_other_approved_skills_do_not_give_it_more_time() -> None:
    part = decide(a_full_test(an_environment("alpha", "beta")), Admitted(), NOW).validation
    assert part.limit == timedelta(seconds=300)
    ended = decide(part, DeadlinePassed(), NOW + timedelta(seconds=301))
    assert ended.validation.verdict == "inconclusive"


def test_a_skill_that_does_as_well_as_before_is_not_marked() -> None:
    environment = an_environment("alpha")
    found = outcome_of(whole(environment), whole(environment))
    assert (found.worse, found.changes, found.tasks, found.verdict) == (False, (), 5, "passed")
    assert found.scores == found.scores_before


def test_an_end_without_a_verdict_says_nothing_about_the_skill() -> None:
    environment = an_environment("alpha")
    part = decide(a_full_test(environment), Admitted(), NOW).validation
    late = decide(part, DeadlinePassed(), NOW + timedelta(hours=1)).validation
    found = outcome_of(late, whole(environment))
    assert (found.verdict, found.worse, found.changes) == ("inconclusive", False, ())


@pytest.mark.parametrize(("grade", "verdict"), [(4, "passed"), (2, "failed")])
def test_a_lower_score_and_a_lost_verdict_are_worse(grade: int, verdict: str) -> None:
    environment = an_environment("alpha")
    found = outcome_of(whole(environment, grade=grade), whole(environment))
    assert (found.worse, found.verdict) == (True, verdict)
    assert f"Task t1, online: graded 5 then, {grade} now." in found.changes
    assert found.changes[-1] == "Environment, models and rubric are as they were."


def test_what_was_not_compared_with_anything_is_not_worse() -> None:
    assert not outcome_of(whole(an_environment("alpha"), grade=1), None).worse


def test_new_tasks_are_told_from_those_with_their_numbers_in_the_last_full_test() -> None:
    environment = an_environment("alpha")
    before = whole(environment)
    other = before.tasks[4].model_copy(update={"prompt": "Do something else."})
    now = whole(environment, grade=4)
    now = now.model_copy(update={"tasks": (*now.tasks[:4], other)})
    changes = changes_since(before, now)
    assert "Task t4, online: graded 5 then, 4 now." in changes
    assert "Task t5, online, is new: graded 4." in changes


def test_tasks_that_the_skill_is_no_longer_used_in_are_named() -> None:
    environment = an_environment("alpha")
    assert "Not used any more in: t1, t2, t3, t4, t5." in changes_since(
        whole(environment), whole(environment, used=False)
    )


def test_version_neighbours_models_and_rubric_that_changed_are_named() -> None:
    before = run_through(a_validation("alpha"))[-1].validation
    now = whole(an_environment("alpha", "beta"))
    assert now.online_graded is not None
    assert now.online_graded.model is not None
    model = now.online_graded.model.model_copy(
        update={"model": "acme:large", "prompt_version": "grader-3"}
    )
    graded: RunGraded = now.online_graded.model_copy(
        update={"model": model, "rubric_version": "rubric-2"}
    )
    now = now.model_copy(update={"online_graded": graded, "offline_graded": graded})
    before = before.model_copy(update={"environment": an_environment("alpha", "gamma", "delta")})
    assert changes_since(before, now) == (
        "Runtime version v1.3 → v1.2.",
        "Approved since: beta.",
        "No longer approved: delta, gamma.",
        "Grader: rehearsal:1 with 1 → acme:large with grader-3.",
        "Rubric rubric-1 → rubric-2.",
    )


def with_packages(validation: Validation, *packages: tuple[str, str]) -> Validation:
    assert validation.online is not None
    installed = tuple(
        Package(ecosystem="pip", name=name, version=version) for name, version in packages
    )
    run: RunFinished = validation.online.model_copy(update={"packages_after": installed})
    return validation.model_copy(update={"online": run})


def test_packages_that_changed_version_are_named_those_it_needs_first() -> None:
    environment = an_environment("alpha")
    needing = whole(environment)
    manifest = needing.manifest.model_copy(
        update={"dependencies": Dependencies(pip=("pandas>=2",))}
    )
    before = with_packages(
        needing, ("attrs", "23.1"), ("pandas", "2.1"), ("six", "1.16"), ("wheel", "0.4")
    )
    now = with_packages(needing, ("attrs", "24.2"), ("pandas", "2.2"), ("wheel", "0.4"))
    now = now.model_copy(update={"manifest": manifest})
    assert changes_since(before, now) == (
        "Package pandas (pip) 2.1 → 2.2, which it needs.",
        "Package attrs (pip) 23.1 → 24.2.",
        "Package six (pip) 1.16 → gone.",
    )


def test_many_changed_packages_are_counted() -> None:
    done = whole(an_environment("alpha"))
    names = [f"package-{number:02}" for number in range(MOST_PACKAGES + 3)]
    before = with_packages(done, *((name, "1.0") for name in names))
    now = with_packages(done, *((name, "2.0") for name in names))
    changes = changes_since(before, now)
    assert len(changes) == MOST_PACKAGES + 1
    assert changes[-1] == "3 more packages changed."


def test_more_network_calls_are_told() -> None:
    done = whole(an_environment("alpha"))
    assert done.offline is not None
    call = NetworkCall(at=NOW, task_id="t1", command="fetch", destination="host.example")
    offline = done.offline.model_copy(update={"network_calls": (call,), "network_calls_omitted": 2})
    now = done.model_copy(update={"offline": offline})
    assert changes_since(done, now)[0] == "Network calls attempted offline: 0 then, 3 now."
