"""The report writer alone: a report's data in, its words out."""

from langchain_core.messages import HumanMessage

from assay_agentkit.fencing import fenced
from assay_contracts.coverage import Coverage, CoveredItem, ItemState
from assay_contracts.grades import Evidence, Grade
from assay_contracts.reports import Report
from assay_rehearsal.conversation import Turn
from assay_rehearsal.reporter import reporter_policy
from assay_testkit.judge import report_of


def grade(task_id: str, number: int) -> Grade:
    evidence = (Evidence(quote="exit code 1", source="check 1"),)
    return Grade(task_id=task_id, grade=number, reasons=f"A {number}.", evidence=evidence)


def words_of(report: Report) -> dict[str, object]:
    data = report.model_dump(mode="json", exclude={"prose"})
    request = HumanMessage(f"Write this.\n{fenced(data, nonce='0')}")
    (answer,) = reporter_policy(Turn(messages=(request,), tools=("ProseDraft",))).calls
    assert answer.name == "ProseDraft"
    return dict(answer.arguments)


def test_what_was_done_and_what_was_not_are_told_apart() -> None:
    words = words_of(report_of(grades=(grade("t1", 4), grade("t2", 3))))

    assert words["strengths"] == ["In the online run the work was done: t1."]
    weaknesses = words["weaknesses"]
    assert isinstance(weaknesses, list)
    assert weaknesses[0] == "t2 in the online run: A 3."
    assert words["recommendations"] == [
        "Let the description say what the skill does in the words people use.",
    ]


def test_the_summary_says_that_no_language_model_took_part_where_none_did() -> None:
    report = report_of(grades=(grade("t1", 5),), verdict="failed", reason="It was not found.")
    assert str(words_of(report)["summary"]).startswith(
        "Failed. It was not found. No language model took part"
    )

    (use,) = report.models
    judged = report.model_copy(update={"models": (use.model_copy(update={"model": "a:b"}),)})
    assert words_of(judged)["summary"] == "Failed. It was not found."


def test_a_skill_without_anything_to_run_is_said_to_be_judged_by_little() -> None:
    report = report_of(grades=(grade("t1", 1),)).model_copy(update={"coverage": Coverage()})

    weaknesses = words_of(report)["weaknesses"]
    assert isinstance(weaknesses, list)
    assert str(weaknesses[0]).startswith("It documents nothing that could be run")


def test_recommendations_fit_what_was_found() -> None:
    def advice(state: ItemState) -> object:
        item = CoveredItem(
            kind="command", what="python3 a.py", program="a.py", state=state, reason="it ended"
        )
        coverage = Coverage(items=(item,), total=1, programs=1)
        report = report_of(grades=(grade("t1", 5),)).model_copy(update={"coverage": coverage})
        recommended = words_of(report)["recommendations"]
        assert isinstance(recommended, list)
        return recommended[0].split()[0]

    assert [advice(state) for state in ("failed", "blocked", "unclear")] == ["Make", "Say", "Bring"]
