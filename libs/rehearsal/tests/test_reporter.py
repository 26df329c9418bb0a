"""The report writer alone: a report's data in, its words out."""

from langchain_core.messages import HumanMessage

from assay_agentkit.fencing import fenced
from assay_contracts.grades import Evidence, Grade
from assay_contracts.reports import Report
from assay_rehearsal.conversation import Turn
from assay_rehearsal.planner.tasks import NO_COMMAND_CRITERION
from assay_rehearsal.reporter import reporter_policy
from assay_testkit.judge import report_of, task


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
        "Make every documented command work as shown, on the inputs shown.",
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


def test_a_skill_without_commands_is_said_to_be_judged_by_little() -> None:
    vague = task(success_criterion=f"{NO_COMMAND_CRITERION} it can be read.")
    report = report_of(grades=(grade("t1", 5),)).model_copy(update={"tasks": (vague,)})

    weaknesses = words_of(report)["weaknesses"]
    assert isinstance(weaknesses, list)
    assert str(weaknesses[0]).startswith("It documents no command that could be tried")
