"""What is asked about the records, on a real database."""

from uuid import uuid4

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from assay_contracts.review import (
    RevalidateSkill,
)
from assay_contracts.rpc import (
    GetReport,
    GetSkill,
    GetStatus,
    ListSkills,
    ListValidations,
    ProblemError,
)
from assay_contracts.validations import ValidationProgressed
from assay_testkit.scorer import an_upload
from assay_testkit.scorer_on_database import ReportsInMemory, Scorer, refusal_code


@pytest.fixture
def scorer(engine: AsyncEngine, reports: ReportsInMemory) -> Scorer:
    return Scorer(engine, reports=reports, max_active=2)


async def test_reports_of_older_validations_are_still_found(scorer: Scorer) -> None:
    first = await scorer.upload(an_upload(sha256="1" * 64))
    await scorer.fail(first)
    second = await scorer.upload(an_upload(sha256="2" * 64))
    for asked, code in (
        (first.validation_id, None),
        (second.validation_id, "VALIDATION_NOT_COMPLETED"),
        (uuid4(), "NOT_FOUND"),
    ):
        question = GetReport(skill_id=first.skill_id, validation_id=asked)
        if code is None:
            assert (await scorer.ask(question)).validation_id == asked
            continue
        with pytest.raises(ProblemError) as refused:
            await scorer.ask(question)
        assert refused.value.problem.code == code


async def test_status_tells_the_task_under_way(scorer: Scorer) -> None:
    reply = await scorer.upload(an_upload())
    await scorer.take(
        ValidationProgressed(
            validation_id=reply.validation_id,
            skill_id=reply.skill_id,
            step="planning",
            detail="task 2 of 3",
            tasks_done=1,
            tasks_total=3,
        )
    )
    status = await scorer.ask(GetStatus(skill_id=reply.skill_id))
    assert (status.detail, status.tasks_done, status.tasks_total) == ("task 2 of 3", 1, 3)


async def test_skills_are_listed_newest_first_filtered_and_searched(scorer: Scorer) -> None:
    for name in ("pdf-tools", "csv-analyzer", "csv_odd"):
        await scorer.upload(an_upload(name))
    everything = await scorer.ask(ListSkills())
    assert [skill.name for skill in everything.skills] == ["csv_odd", "csv-analyzer", "pdf-tools"]
    assert (await scorer.ask(ListSkills(q="CSV"))).total == 2
    assert (await scorer.ask(ListSkills(q="csv_"))).total == 1
    assert (await scorer.ask(ListSkills(validation_stage="queued"))).total == 1
    assert (await scorer.ask(ListSkills(status="approved"))).total == 0
    second = await scorer.ask(ListSkills(page=2, size=2))
    assert [skill.name for skill in second.skills] == ["pdf-tools"]
    assert second.total == 3


async def test_what_is_not_there_is_said_so(scorer: Scorer) -> None:
    with pytest.raises(ProblemError) as unknown:
        await scorer.ask(GetSkill(skill_id=uuid4()))
    assert unknown.value.problem.code == "SKILL_NOT_FOUND"
    reply = await scorer.upload(an_upload())
    with pytest.raises(ProblemError) as early:
        await scorer.ask(GetReport(skill_id=reply.skill_id))
    assert early.value.problem.code == "VALIDATION_NOT_COMPLETED"


async def test_the_history_of_a_skill_tells_every_validation_with_its_scores(
    scorer: Scorer,
) -> None:
    skill = await scorer.validated("alpha")
    again = await scorer.ask(RevalidateSkill(skill_id=skill.skill_id, actor="ann"))
    await scorer.start_queued()
    await scorer.run_to_the_end(again.validation_id, alpha=3)
    history = await scorer.ask(ListValidations(skill_id=skill.skill_id))
    assert [(v.validation_id, v.kind, v.verdict) for v in history.validations] == [
        (again.validation_id, "revalidation", "passed"),
        (skill.validation_id, "initial", "passed"),
    ]
    overall = [v.scores.overall for v in history.validations if v.scores]
    assert overall == [75.0, 100.0]
    assert await refusal_code(scorer.ask(ListValidations(skill_id=uuid4()))) == "SKILL_NOT_FOUND"
