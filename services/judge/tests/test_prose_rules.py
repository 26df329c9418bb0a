import pytest

from assay_contracts.grades import Evidence, Grade
from assay_judge.domain.prose import ProseDraft, as_prose, prose_problems
from assay_testkit.judge import report_of

GRADES = tuple(
    Grade(
        task_id=f"t{number}",
        grade=grade,
        reasons="See evidence.",
        evidence=(Evidence(quote="3 words", source="answer"),),
    )
    for number, grade in enumerate((5, 5, 2), start=1)
)
REPORT = report_of(grades=GRADES)


@pytest.mark.parametrize(
    "summary",
    [
        "Passed: completion 91.7 and trigger 66.7 of 100.",
        "Passed with an overall of 69.2; rounded, that is 69.",
        "Two of the three tasks were done; t3 got 2 out of 5.",
        "The skill does what it says.",
        "It passed although one task failed.",
    ],
)
def test_what_the_data_says_may_be_said(summary: str) -> None:
    assert prose_problems(ProseDraft(summary=summary), REPORT) == []


@pytest.mark.parametrize(
    ("summary", "complaint"),
    [
        ("Passed with an overall of 97.3.", "'97.3'"),
        ("All seven tasks were done.", "'seven'"),
        ("Failed.", "'failed', but the verdict is 'passed'"),
        ("The result is inconclusive.", "'inconclusive'"),
        ("Completion reached 100 %.", "'100'"),
    ],
)
def test_what_contradicts_the_data_is_refused(summary: str, complaint: str) -> None:
    (problem,) = prose_problems(ProseDraft(summary=summary), REPORT)
    assert complaint in problem


def test_every_part_is_looked_at() -> None:
    draft = ProseDraft(
        summary="Passed.",
        strengths=("88 lines",),
        weaknesses=("77 bugs",),
        recommendations=("Fix 66 of them.",),
    )
    assert [p.split("'")[1] for p in prose_problems(draft, REPORT)] == ["88", "77", "66"]


def test_prose_is_brought_into_one_line_each() -> None:
    prose = as_prose(ProseDraft(summary="Passed:\n\n# big", strengths=("a\nb",)))
    assert prose.summary == "Passed: # big"
    assert prose.strengths == ("a b",)
