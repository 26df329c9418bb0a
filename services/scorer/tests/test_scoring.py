"""Every cell of the scoring tables."""

import pytest

from assay_contracts.grades import Evidence, Grade
from assay_contracts.runs import SkillUse, TaskOutcome
from assay_scorer.domain import scoring


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


@pytest.mark.parametrize(("grade", "points"), [(1, 0), (2, 25), (3, 50), (4, 75), (5, 100)])
def test_a_grade_becomes_points(grade: int, points: int) -> None:
    assert scoring.converted(grade) == points


@pytest.mark.parametrize(
    ("grades", "expected"),
    [((5, 5, 5), 100.0), ((5, 4, 4), 83.3), ((1, 1, 1), 0.0), ((2, 2, 3), 33.3)],
)
def test_completion_is_the_mean(grades: tuple[int, ...], expected: float) -> None:
    assert scoring.completion(graded(*grades)) == expected


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
    assert scoring.trigger(outcomes(*used), "s") == expected


@pytest.mark.parametrize(
    ("count", "expected"), [(0, 100.0), (1, 70.0), (2, 70.0), (3, 0.0), (50, 0.0)]
)
def test_offline_falls_with_calls(count: int, expected: float) -> None:
    assert scoring.offline(count) == expected


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
    scores = scoring.combine(completion, trigger, offline)
    assert scores.overall == overall
    assert (scores.completion, scores.trigger, scores.offline) == (completion, trigger, offline)


def test_half_a_tenth_is_rounded_up() -> None:
    # 0.5 * 50.1 = 25.05, which binary floats would round down.
    assert scoring.combine(50.1, 0.0, 0.0).overall == 25.1
