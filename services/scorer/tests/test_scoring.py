"""Every cell of the scoring tables."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import uuid4

import pytest

from assay_contracts.attribution import Attribution, AttributionKind
from assay_contracts.grades import Evidence, Grade, is_done
from assay_contracts.grades import points as points_of
from assay_contracts.runs import NetworkCause, RunFinished, SkillUse, TaskOutcome
from assay_contracts.scores import (
    DIMENSIONS,
    OFFLINE_PASS_MARK,
    ONLINE_PASS_MARK,
    OVERALL_PASS_MARK,
    Scores,
)
from assay_contracts.skills import Dependencies, FileEntry, SkillManifest
from assay_scorer.domain import scoring
from assay_scorer.domain.conductor import decide
from assay_scorer.domain.inputs import Admitted, ConductorInput
from assay_scorer.domain.recompute import difference
from assay_scorer.domain.scoring import Observed
from assay_scorer.domain.time_limits import time_limit
from assay_scorer.domain.validation import REGRESSION_LIMIT, Validation
from assay_scorer.domain.work import open_work
from assay_testkit.reports import a_call
from assay_testkit.scorer import NOW, a_validation, an_environment, well_done


def graded(*grades: int) -> list[Grade]:
    return [
        Grade(
            task_id=f"t{n}",
            grade=grade,
            reasons="r",
            evidence=(Evidence(quote="q", source="answer"),),
        )
        for n, grade in enumerate(grades, start=1)
    ]


def outcomes(*used: str | None) -> list[TaskOutcome]:
    return [
        TaskOutcome(
            task_id=f"t{n}",
            trace_key="k",
            skills_used=(SkillUse(skill=skill, kind="run", evidence="e", step=0),) if skill else (),
            checks=(),
            commands=0,
            seconds=0,
            answer="",
        )
        for n, skill in enumerate(used, start=1)
    ]


def a_run(**changes: object) -> RunFinished:
    run = RunFinished(validation_id=uuid4(), step_id="s", attempt=1)
    return run.model_copy(update=changes)


def observed(
    *,
    grades: Sequence[Grade] = (),
    outcomes: Sequence[TaskOutcome] = (),
    offline: RunFinished | None = None,
) -> Observed:
    online = a_run(outcomes=tuple(outcomes))
    return Observed(skill_name="s", online=online, online_grades=grades, offline=offline)


@pytest.mark.parametrize(("grade", "points"), [(1, 0), (2, 25), (3, 50), (4, 75), (5, 100)])
def test_a_grade_becomes_points(grade: int, points: int) -> None:
    assert points_of(grade) == points


@pytest.mark.parametrize(
    ("grade", "done"), [(1, False), (2, False), (3, False), (4, True), (5, True)]
)
def test_a_task_is_done_with_at_most_a_small_flaw(grade: int, done: bool) -> None:
    assert is_done(grade) is done


@pytest.mark.parametrize(
    ("grades", "expected"),
    [((5, 5, 5), 100.0), ((5, 4, 4), 83.3), ((1, 1, 1), 0.0), ((2, 2, 3), 33.3)],
)
def test_completion_is_the_mean(grades: tuple[int, ...], expected: float) -> None:
    assert scoring.completion(observed(grades=graded(*grades))) == expected


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        (("s", "s", "s"), 100.0),
        (("s", "s", None), 66.7),
        (("s", "other", None), 33.3),
        ((None, None, None), 0.0),
        (("s-2", "s-2", "s-2"), 0.0),
    ],
)
def test_trigger_counts_only_the_skill_under_test(
    used: tuple[str | None, ...], expected: float
) -> None:
    assert scoring.trigger(observed(outcomes=outcomes(*used))) == expected


@pytest.mark.parametrize(
    ("count", "expected"), [(0, 100.0), (1, 70.0), (2, 70.0), (3, 0.0), (50, 0.0)]
)
def test_offline_falls_with_calls(count: int, expected: float) -> None:
    listed = min(count, 2)
    run = a_run(
        network_calls=tuple(map(a_call, range(listed))), network_calls_omitted=count - listed
    )
    assert scoring.offline(observed(offline=run)) == expected


@pytest.mark.parametrize(
    ("causes", "omitted", "expected"),
    [
        (("agent", "package_manager", "agent"), 0, 100.0),
        (("agent", "package_manager", "agent"), 9, 100.0),
        (("skill", "agent", "agent", "agent"), 0, 70.0),
        (("skill", "skill", "package_manager"), 0, 70.0),
        (("skill", "skill", "skill"), 0, 0.0),
        (("skill",), 9, 0.0),
        ((None, None), 0, 70.0),
        ((None, None), 1, 0.0),
        ((None, "skill", None), 0, 0.0),
    ],
)
def test_only_calls_of_the_skill_are_held_against_it(
    causes: tuple[NetworkCause | None, ...], omitted: int, expected: float
) -> None:
    calls = tuple(
        a_call(number).model_copy(update={"cause": cause, "attempts": 6})
        for number, cause in enumerate(causes)
    )
    run = a_run(network_calls=calls, network_calls_omitted=omitted)
    assert scoring.offline(observed(offline=run)) == expected


@pytest.mark.parametrize(
    ("online", "offline", "calls", "expected"),
    [
        ((5, 5, 5), (5, 5, 5), 0, 100.0),
        ((5, 4, 4), (4, 5, 4), 0, 100.0),
        # Each task that was done and is not done any more counts as a call.
        ((5, 5, 5), (5, 5, 1), 0, 70.0),
        ((5, 5, 5), (5, 3, 2), 0, 70.0),
        ((5, 5, 5), (5, 5, 1), 2, 0.0),
        # Its own call stands for it: what is counted is counted once.
        ((5, 5, 5), (1, 5, 5), 2, 70.0),
        # Nothing is left that works.
        ((5, 5, 5), (1, 1, 1), 0, 0.0),
        ((5, 5, 1), (1, 1, 1), 0, 0.0),
        ((5, 1, 1), (1, 1, 1), 0, 0.0),
        ((3, 3, 3), (1, 1, 1), 0, 0.0),
        # What was done in part and is done less; what never worked says nothing.
        ((5, 5, 3), (5, 5, 2), 0, 70.0),
        ((5, 5, 1), (5, 5, 1), 0, 100.0),
        ((2, 2, 2), (1, 1, 1), 0, 100.0),
    ],
)
def test_offline_counts_only_what_worked_offline(
    online: tuple[int, ...], offline: tuple[int, ...], calls: int, expected: float
) -> None:
    run = a_run(
        outcomes=tuple(outcomes("s", "s", "s")),
        network_calls=tuple(
            a_call(number).model_copy(update={"task_id": "t1", "cause": "skill"})
            for number in range(calls)
        ),
    )
    found = observed(grades=graded(*online), outcomes=outcomes("s", "s", "s"), offline=run)
    assert scoring.offline(replace(found, offline_grades=graded(*offline))) == expected


@pytest.mark.parametrize(
    ("kind", "changes", "lost"),
    [
        ("with", {}, ()),
        ("around", {}, ("t1",)),
        ("without", {}, ()),
        ("around", {"bounds_hit": ("tokens",)}, ()),
        ("around", {"bounds_hit": ("time",)}, ("t1",)),
    ],
)
def test_work_around_the_skill_is_lost_and_a_limit_of_ours_is_not(
    kind: AttributionKind, changes: dict[str, object], lost: tuple[str, ...]
) -> None:
    (outcome,) = outcomes("s")
    tried = outcome.model_copy(update={"attribution": Attribution(kind=kind), **changes})
    found = observed(grades=graded(5), outcomes=[outcome], offline=a_run(outcomes=(tried,)))
    assert scoring.lost_offline(replace(found, offline_grades=graded(5))) == lost


def test_without_an_offline_run_nothing_is_known_of_it() -> None:
    assert scoring.offline(observed()) is None


@pytest.mark.parametrize(
    ("completion", "trigger", "offline", "overall"),
    [
        (100.0, 100.0, 100.0, 100.0),
        (50.0, 100.0, 70.0, 70.5),
        (83.3, 66.7, 70.0, 75.5),
        (100.0, 100.0, 0.0, 85.0),
        (100.0, 0.0, 100.0, 65.0),
        (0.0, 100.0, None, 35.0),
        (33.3, 33.3, None, 28.3),
    ],
)
def test_the_overall_score_weighs_the_three(
    completion: float, trigger: float, offline: float | None, overall: float
) -> None:
    measured = {"completion": completion, "trigger": trigger, "offline": offline}
    scores = scoring.combined(measured)
    assert scores.overall == overall
    assert (scores.completion, scores.trigger, scores.offline) == (completion, trigger, offline)


def test_half_a_tenth_is_rounded_up() -> None:
    # 0.5 * 50.1 = 25.05, which binary floats would round down.
    measured = {"completion": 50.1, "trigger": 0.0, "offline": 0.0}
    assert scoring.combined(measured).overall == 25.1


@pytest.mark.parametrize(
    ("grades", "expected"),
    [
        ((5,), 100.0),
        ((4, 5), 87.5),
        ((1, 2, 2, 2), 18.8),
        ((2, 1, 1, 1), 6.3),
        ((1, 1, 1, 1, 1, 1, 1, 2), 3.1),
    ],
)
def test_completion_is_rounded_half_up_to_one_decimal(
    grades: tuple[int, ...], expected: float
) -> None:
    assert scoring.completion(observed(grades=graded(*grades))) == expected


def test_trigger_is_rounded_half_up_to_one_decimal() -> None:
    # One of sixteen is 6.25.
    assert scoring.trigger(observed(outcomes=outcomes("s", *[None] * 15))) == 6.3


def test_the_weights_and_thresholds_are_those_of_the_tables() -> None:
    weights = {each.name: each.weight for each in DIMENSIONS}
    assert weights == {"completion": 50, "trigger": 35, "offline": 15}
    assert sum(weights.values()) == 100
    marks = {each.name: each.pass_mark for each in DIMENSIONS}
    assert marks == {"completion": 50, "trigger": None, "offline": 70}
    assert (ONLINE_PASS_MARK, OFFLINE_PASS_MARK, OVERALL_PASS_MARK) == (50, 70, 70)


def test_every_dimension_has_its_field_and_its_measure() -> None:
    names = [each.name for each in DIMENSIONS]
    assert [*names, "overall"] == list(Scores.model_fields)
    assert set(names) == set(scoring.MEASURES)


def judged(
    grades: tuple[int, int, int], *, used: int = 3, calls: int = 0, approved: tuple[str, ...] = ()
) -> Validation:
    """A validation to its end, with these grades online and this many tasks that used the skill."""
    validation = decide(
        a_validation(), Admitted(environment=an_environment(*approved)), NOW
    ).validation
    while validation.step != "done":
        work = open_work(validation)[0]
        result = well_done(work, calls=calls)
        if validation.step == "online_grading":
            result = result.model_copy(update={"grades": tuple(graded(*grades))})
        elif isinstance(result, RunFinished) and validation.step == "online_run":
            unused = tuple(
                outcome.model_copy(update={"skills_used": ()}) for outcome in result.outcomes[used:]
            )
            result = result.model_copy(update={"outcomes": (*result.outcomes[:used], *unused)})
        assert isinstance(result, ConductorInput)
        validation = decide(validation, result, NOW).validation
    return validation


@pytest.mark.parametrize(
    ("grades", "used", "calls", "overall", "verdict"),
    [
        # Online: from 50 on there is an offline run, whatever comes of it.
        ((3, 3, 3), 3, 0, 75.0, "passed"),
        ((3, 3, 2), 3, 0, 55.9, "failed"),
        ((1, 1, 1), 3, 0, 35.0, "failed"),
        # Overall: 70 is enough, the tenth below it is not.
        ((3, 4, 4), 2, 0, 71.7, "passed"),
        ((3, 3, 3), 3, 1, 70.5, "passed"),
        ((4, 4, 4), 2, 2, 71.3, "passed"),
        ((3, 3, 4), 2, 0, 67.5, "failed"),
        ((3, 3, 3), 2, 0, 63.3, "failed"),
        # Offline: calls cost what the table says, and fail nobody by themselves.
        ((5, 5, 5), 3, 0, 100.0, "passed"),
        ((5, 5, 5), 3, 2, 95.5, "passed"),
        ((5, 5, 5), 3, 3, 85.0, "passed"),
        ((3, 3, 3), 3, 3, 60.0, "failed"),
        # Trigger: a skill that nobody finds fails, however well the tasks are done.
        ((5, 5, 5), 0, 0, 65.0, "failed"),
        ((5, 5, 5), 1, 0, 76.7, "passed"),
    ],
)
def test_a_validation_is_judged_by_the_tables(
    grades: tuple[int, int, int], used: int, calls: int, overall: float, verdict: str
) -> None:
    validation = judged(grades, used=used, calls=calls)
    assert validation.scores is not None
    assert (validation.scores.overall, validation.verdict) == (overall, verdict)
    assert (validation.scores.offline is None) == (validation.scores.completion < 50)
    assert difference(validation) is None


@pytest.mark.parametrize(("grades", "retested"), [((3, 3, 3), True), ((3, 3, 2), False)])
def test_only_what_passes_layer_1_comes_to_layer_2(
    grades: tuple[int, int, int], retested: bool
) -> None:
    validation = judged(grades, approved=("alpha",))
    assert bool(validation.regressions) is retested
    assert validation.layer2_passed is (True if retested else None)


@pytest.mark.parametrize(
    ("files", "dependencies", "seconds"),
    [(1, 0, 300), (5, 0, 300), (6, 0, 600), (1, 1, 600), (20, 3, 600), (21, 0, 900), (1, 4, 900)],
)
def test_the_time_allowed_goes_by_the_size_of_the_skill(
    files: int, dependencies: int, seconds: int
) -> None:
    manifest = SkillManifest(
        name="s",
        description="d",
        files=tuple(FileEntry(path=f"{n}.md", size=1) for n in range(files)),
        dependencies=Dependencies(pip=tuple(f"p{n}" for n in range(dependencies))),
    )
    assert time_limit(manifest).total_seconds() == seconds


def test_layer_2_adds_a_minute_for_each_approved_skill() -> None:
    assert REGRESSION_LIMIT.total_seconds() == 60
    alone = decide(a_validation(), Admitted(), NOW).validation
    third = decide(a_validation(), Admitted(environment=an_environment("a", "b")), NOW).validation
    assert third.limit - alone.limit == 2 * REGRESSION_LIMIT
