import pytest

from assay_contracts.grades import Evidence, Grade
from assay_contracts.reports import ReportWritten
from assay_contracts.validations import Verdict
from assay_judge.use_cases.write_report import WriteReport
from assay_rehearsal.conversation import Policy, Reply, ToolUse, Turn
from assay_rehearsal.reporter import reporter_policy
from assay_testkit.judge import judge_agents, report_of, reporting_of


def grade(task_id: str, number: int) -> Grade:
    return Grade(
        task_id=task_id,
        grade=number,
        reasons="The last command ended with exit code 1." if number < 3 else "All is well.",
        evidence=(Evidence(quote="exit code 1", source="check 1"),),
    )


REPORT = report_of(grades=(grade("t1", 5), grade("t2", 5), grade("t3", 1)))


async def written(
    policy: Policy = reporter_policy, *, verdict: Verdict = "passed"
) -> ReportWritten:
    report = REPORT.model_copy(update={"verdict": verdict, "reason": "Two tasks were done."})
    result = await WriteReport(agents=judge_agents(reporter=policy))(reporting_of(report))
    assert isinstance(result, ReportWritten)
    return result


def writing(**prose: object) -> Policy:
    return lambda _: Reply(calls=(ToolUse("ProseDraft", prose),))


@pytest.mark.parametrize("verdict", ["passed", "failed", "inconclusive"])
async def test_in_rehearsal_the_words_follow_the_data_and_say_that_no_model_took_part(
    verdict: Verdict,
) -> None:
    prose = (await written(verdict=verdict)).prose
    assert prose is not None
    assert prose.summary.lower().startswith(verdict)
    assert "No language model took part" in prose.summary
    assert any("t3" in weakness and "exit code 1" in weakness for weakness in prose.weaknesses)
    assert any("t1, t2" in strength for strength in prose.strengths)
    assert prose.recommendations


async def test_words_that_contradict_the_numbers_are_asked_for_again() -> None:
    heard: list[str] = []

    def exaggerates_once(turn: Turn) -> Reply:
        heard.append(turn.request)
        number = "69.2" if len(heard) > 1 else "99.9"
        return writing(summary=f"Passed with {number}.")(turn)

    result = await written(exaggerates_once)
    assert result.prose is not None
    assert result.prose.summary == "Passed with 69.2."
    assert "'99.9' is not in the data" in heard[1]


@pytest.mark.parametrize(
    ("policy", "says"),
    [
        (writing(summary="Passed with 99.9."), "refused 3 times"),
        (writing(summary="Failed badly."), "the verdict is 'passed'"),
        (lambda _: Reply("A fine skill."), "prose instead of a ProseDraft"),
    ],
)
async def test_a_writer_that_will_not_do_leaves_the_report_without_words(
    policy: Policy, says: str
) -> None:
    result = await written(policy)
    assert result.prose is None
    assert result.failure is not None
    assert says in result.failure.reason


async def test_the_writer_sees_what_the_skill_promises_whole() -> None:
    heard: list[str] = []

    def listens(turn: Turn) -> Reply:
        heard.append(turn.request)
        return writing(summary="Passed.")(turn)

    promise = "Counts words. " * 70
    report = REPORT.model_copy(update={"description": promise})
    await WriteReport(agents=judge_agents(reporter=listens))(reporting_of(report))
    assert promise in heard[0]
