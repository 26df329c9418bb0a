"""What stands in the way and is not the skill's makes a failure inconclusive, never a pass."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay_contracts.attribution import Attribution, AttributionKind
from assay_contracts.obstacles import Obstacle, ObstacleKind
from assay_contracts.runs import Installation, RunFinished
from assay_contracts.validations import Verdict
from assay_scorer.domain.conductor import decide
from assay_scorer.domain.decisions import Decision
from assay_scorer.domain.inputs import Admitted
from assay_testkit.scorer import (
    NOW,
    a_validation,
    an_environment,
    as_input,
    validation_at,
    well_done,
    work_in,
)

ORDER: dict[Verdict, int] = {"failed": 0, "inconclusive": 1, "passed": 2}


def obstacle(kind: ObstacleKind = "missing_key", what: str = "GAMMA_API_KEY") -> Obstacle:
    return Obstacle(kind=kind, what=what, observed="the variable is not set", advice="Set it.")


def concluded(
    grades: tuple[int, int, int],
    hindered: tuple[bool, bool, bool],
    *,
    kind: AttributionKind = "with",
    what: ObstacleKind = "missing_key",
    **run: Any,
) -> Decision:
    """A validation whose online tasks got these grades, taken as far as its verdict."""
    asked = validation_at("online_run")
    ran = well_done(work_in(asked))
    assert isinstance(ran, RunFinished)
    outcomes = tuple(
        each.model_copy(
            update={
                "obstacles": (obstacle(what),) if hindered[index] else (),
                "attribution": Attribution(kind=kind),
            }
        )
        for index, each in enumerate(ran.outcomes)
    )
    result = ran.model_copy(update={"outcomes": outcomes, **run})
    grading = decide(asked.validation, as_input(result), NOW)
    graded = well_done(work_in(grading))
    given_grades = tuple(
        each.model_copy(update={"grade": grade})
        for each, grade in zip(graded.grades, grades, strict=True)  # type: ignore[attr-defined]
    )
    decision = decide(
        grading.validation,
        as_input(graded.model_copy(update={"grades": given_grades})),
        NOW,
    )
    while decision.validation.verdict is None:
        decision = decide(decision.validation, as_input(well_done(work_in(decision))), NOW)
    return decision


def test_tasks_that_something_stood_in_the_way_of_fail_no_skill() -> None:
    found = concluded((1, 1, 1), (True, True, True), kind="around").validation

    assert (found.verdict, found.scores) == ("inconclusive", None)
    assert found.reason is not None
    assert "GAMMA_API_KEY" in found.reason
    assert "t1, t2, t3" in found.reason
    assert "Set it." in found.reason


def test_what_fails_apart_from_it_fails() -> None:
    # Even with t1 done as well as can be, completion is 33.3.
    assert concluded((1, 1, 1), (True, False, False)).validation.verdict == "failed"


def test_a_hindered_task_counts_as_it_is_for_a_skill_that_passes_all_the_same() -> None:
    found = concluded((5, 5, 1), (False, False, True)).validation

    assert found.verdict == "passed"
    assert found.scores is not None
    assert found.scores.completion == 66.7
    assert found.reason is not None
    assert "GAMMA_API_KEY" in found.reason


def test_an_obstacle_that_was_overcome_is_none() -> None:
    found = concluded((5, 5, 5), (True, True, True)).validation

    assert found.verdict == "passed"
    assert found.reason is not None
    assert "GAMMA_API_KEY" not in found.reason


grade = st.integers(min_value=1, max_value=5)


@settings(max_examples=40, deadline=None)
@given(
    grades=st.tuples(grade, grade, grade),
    hindered=st.tuples(st.booleans(), st.booleans(), st.booleans()),
)
def test_provoking_an_obstacle_never_makes_a_skill_pass(
    grades: tuple[int, int, int], hindered: tuple[bool, bool, bool]
) -> None:
    without = concluded(grades, (False, False, False)).validation.verdict
    provoked = concluded(grades, hindered).validation.verdict

    assert (without == "passed") == (provoked == "passed")
    assert without is not None
    assert provoked is not None
    assert ORDER[provoked] >= ORDER[without]


@pytest.mark.parametrize(
    ("what", "verdict"),
    [("space", "inconclusive"), ("time", "inconclusive"), ("missing_tool", "failed")],
)
def test_in_layer_2_only_our_limits_excuse(what: ObstacleKind, verdict: Verdict) -> None:
    # What was there when the skill was approved and is gone now is what layer 2 looks for.
    decision = decide(a_validation(), Admitted(environment=an_environment("old")), NOW)
    while decision.validation.step != "regression":
        decision = decide(decision.validation, as_input(well_done(work_in(decision))), NOW)
    ran = well_done(work_in(decision))
    assert isinstance(ran, RunFinished)
    outcomes = tuple(
        each.model_copy(update={"obstacles": (obstacle(what),)}) for each in ran.outcomes
    )
    decision = decide(
        decision.validation, as_input(ran.model_copy(update={"outcomes": outcomes})), NOW
    )
    decision = decide(decision.validation, as_input(well_done(work_in(decision), grade=1)), NOW)

    assert decision.validation.verdict == verdict


@pytest.mark.parametrize(
    ("cause", "verdict"),
    [
        ("unavailable", "inconclusive"),
        ("limit", "inconclusive"),
        ("missing", "failed"),
        ("conflict", "failed"),
        ("broken", "failed"),
    ],
)
def test_what_is_declared_and_cannot_be_installed_decides(cause: Any, verdict: Verdict) -> None:
    failed = Installation(
        ecosystem="pip",
        requirements=("leftpad==9",),
        declared_in=("requirements.txt",),
        seconds=1,
        failure="it said no",
        cause=cause,
    )

    found = concluded((5, 5, 5), (False, False, False), installations=(failed,)).validation
    shown = failed.model_copy(update={"required": False})
    prose = concluded((5, 5, 5), (False, False, False), installations=(shown,)).validation

    assert (found.verdict, found.cause) == (verdict, "installing")
    assert found.reason is not None
    assert found.reason.startswith("DEPENDENCY_INSTALL_FAILED")
    assert "leftpad==9" in found.reason
    assert prose.verdict == "passed"
