"""Full tests on a real database: all approved skills, each once, five at a time, told once."""

import asyncio
from uuid import uuid4

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncEngine

from assay_contracts.base import Work
from assay_contracts.full_tests import (
    CancelFullTest,
    FullTestView,
    GetFullTest,
    ListFullTests,
    StartFullTest,
)
from assay_contracts.rpc import (
    GetReport,
    GetSkill,
    GetStatus,
    ListValidations,
    ProblemError,
)
from assay_contracts.runs import RunRequested
from assay_contracts.validations import (
    CleanupRequested,
    ValidationRequested,
)
from assay_testkit.scorer import started, well_done
from assay_testkit.scorer_on_database import Scorer, full_test_completions, refusal_of, said

START = StartFullTest(actor="ann")


@pytest.fixture
def scorer(engine: AsyncEngine) -> Scorer:
    return Scorer(engine, max_active=2, max_full_test_skills=2)


async def test_every_approved_skill_is_asked_its_stored_tasks_and_two_new_ones(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    for name in ("alpha", "beta", "gamma"):
        await scorer.approved(name)
    view = await scorer.started_full_test()
    assert (view.status, view.runtime_version, view.started_by) == ("running", "v1.3", "ann")
    assert [skill.skill_name for skill in view.skills] == ["alpha", "beta", "gamma"]
    assert [skill.step for skill in view.skills] == ["planning", "planning", "queued"]

    view = await scorer.finished_full_test(view.full_test_id)
    assert view.status == "completed"
    assert view.counts.model_dump() == {
        "total": 3,
        "done": 3,
        "passed": 3,
        "failed": 0,
        "inconclusive": 0,
        "worse": 0,
    }
    assert [skill.tasks for skill in view.skills] == [5, 5, 5]

    planned = await said(engine, ValidationRequested.subject_in("background"))
    assert len(planned) == 3
    for body in planned:
        request = ValidationRequested.model_validate_json(body)
        assert (request.task_count, len(request.known_tasks)) == (2, 3)
    runs = [
        RunRequested.model_validate_json(body)
        for body in await said(engine, RunRequested.subject_in("background"))
    ]
    assert sorted((run.skill_name, run.kind, len(run.tasks)) for run in runs) == [
        (name, kind, 5) for name in ("alpha", "beta", "gamma") for kind in ("offline", "online")
    ]
    (fact,) = await full_test_completions(engine)
    assert fact.full_test_id == view.full_test_id
    assert [(skill.skill_name, skill.verdict) for skill in fact.skills] == [
        ("alpha", "passed"),
        ("beta", "passed"),
        ("gamma", "passed"),
    ]


async def test_runs_start_from_the_current_version_and_leave_nothing_behind(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    alpha = await scorer.approved("alpha")
    view = await scorer.started_full_test()
    await scorer.finished_full_test(view.full_test_id)
    online, offline = (
        RunRequested.model_validate_json(body)
        for body in await said(engine, RunRequested.subject_in("background"))
    )
    assert online.base == f"{alpha.validation_id}-1"
    assert offline.base == online.capture
    cleanups = [
        CleanupRequested.model_validate_json(body).snapshots
        for body in await said(engine, CleanupRequested.subject_in("background"))
    ]
    assert cleanups == [(online.capture,)]


async def test_a_skill_keeps_its_status_its_review_and_its_stored_tasks(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    alpha = await scorer.approved("alpha")
    before = await scorer.ask(GetStatus(skill_id=alpha.skill_id))
    view = await scorer.started_full_test()
    assert await scorer.ask(GetStatus(skill_id=alpha.skill_id)) == before
    view = await scorer.finished_full_test(view.full_test_id)
    assert await scorer.ask(GetStatus(skill_id=alpha.skill_id)) == before

    detail = await scorer.ask(GetSkill(skill_id=alpha.skill_id))
    (tested,) = view.skills
    assert (detail.status, detail.validation_id) == ("approved", alpha.validation_id)
    assert detail.last_full_test_id == view.full_test_id
    assert detail.last_full_test_at == tested.completed_at
    assert detail.full_test_results == tested
    assert tested.scores_before == detail.scores

    history = await scorer.ask(ListValidations(skill_id=alpha.skill_id))
    assert [each.kind for each in history.validations] == ["full_test", "initial"]
    newest = await scorer.ask(GetReport(skill_id=alpha.skill_id))
    assert newest.validation_id == alpha.validation_id
    asked = GetReport(skill_id=alpha.skill_id, validation_id=tested.validation_id)
    assert (await scorer.ask(asked)).validation_id == tested.validation_id
    async with scorer.records.transaction() as transaction:
        environment = await transaction.current_environment()
    assert [len(skill.tasks) for skill in environment.approved] == [3]


async def test_of_many_started_at_once_one_is_taken_and_the_others_are_told_its_id(
    scorer: Scorer,
) -> None:
    await scorer.approved("alpha")
    answers = await asyncio.gather(*(scorer.ask(START) for _ in range(8)), return_exceptions=True)
    (taken,) = [answer for answer in answers if isinstance(answer, FullTestView)]
    refused = [answer for answer in answers if isinstance(answer, ProblemError)]
    assert len(refused) == 7
    assert {error.problem.code for error in refused} == {"VALIDATION_IN_PROGRESS"}
    assert {error.problem.details.full_test_id for error in refused} == {taken.full_test_id}
    await scorer.start_queued()
    await scorer.finished_full_test(taken.full_test_id)
    assert (await scorer.ask(START)).full_test_id != taken.full_test_id


async def test_fresh_uploads_never_wait_behind_a_full_test(scorer: Scorer) -> None:
    for name in ("alpha", "beta", "gamma"):
        await scorer.approved(name)
    await scorer.started_full_test()
    replies = [await scorer.uploaded(f"fresh-{n}") for n in range(3)]
    steps = [(await scorer.ask(GetStatus(skill_id=reply.skill_id))).step for reply in replies]
    assert steps == ["planning", "planning", "queued"]
    assert [work.lane for reply in replies for work in await scorer.open_work(started(reply))] == [
        "shared",
        "shared",
    ]


async def test_skills_that_end_at_once_start_no_more_than_fit_and_one_completion_is_said(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    for name in ("alpha", "beta", "gamma", "delta", "epsilon"):
        await scorer.approved(name)
    view = await scorer.started_full_test()
    take, most = scorer.take, 0
    while view.status == "running":
        work: list[Work] = []
        for skill in view.skills:
            work += await scorer.open_work(skill.validation_id)
        most = max(most, len(work))
        # Each result twice, all at the same time.
        await asyncio.gather(*(take(well_done(each)) for each in (*work, *work)))
        view = await scorer.ask(GetFullTest(full_test_id=view.full_test_id))
    assert most == 2
    assert view.counts.passed == 5
    assert len(await full_test_completions(engine)) == 1


async def test_all_skills_are_tested_on_the_version_it_began_with(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    for name in ("alpha", "beta", "gamma"):
        await scorer.approved(name)
    view = await scorer.started_full_test()
    await scorer.approved("delta")
    view = await scorer.finished_full_test(view.full_test_id)
    assert view.counts.total == 3
    runs = [
        RunRequested.model_validate_json(body)
        for body in await said(engine, RunRequested.subject_in("background"))
    ]
    assert len({run.base for run in runs if run.kind == "online"}) == 1
    assert {len(run.skills) for run in runs} == {3}


async def test_the_version_under_test_outlives_five_approvals(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    alpha = await scorer.approved("alpha")
    view = await scorer.started_full_test()
    for number in range(6):
        await scorer.approved(f"later-{number}")
    tested = f"{alpha.validation_id}-1"

    async def dropped() -> bool:
        bodies = await said(engine, CleanupRequested.SUBJECT)
        return any(
            tested in CleanupRequested.model_validate_json(each).snapshots for each in bodies
        )

    assert not await dropped()
    await scorer.finished_full_test(view.full_test_id)
    await scorer.approved("last")
    assert await dropped()


async def test_full_tests_are_listed_newest_first_and_unknown_ones_are_said_so(
    scorer: Scorer,
) -> None:
    first, second = await scorer.ask(START), await scorer.ask(START)
    page = await scorer.ask(ListFullTests(size=1))
    assert (page.total, [each.full_test_id for each in page.full_tests]) == (
        2,
        [second.full_test_id],
    )
    older = await scorer.ask(ListFullTests(page=2, size=1))
    assert [each.full_test_id for each in older.full_tests] == [first.full_test_id]
    unknown = GetFullTest(full_test_id=uuid4())
    assert (await refusal_of(scorer.ask(unknown))).code == "FULL_TEST_NOT_FOUND"
    cancel = CancelFullTest(full_test_id=uuid4(), actor="ann")
    assert (await refusal_of(scorer.ask(cancel))).code == "FULL_TEST_NOT_FOUND"


async def test_only_one_part_of_a_skill_and_only_one_full_test_can_be_open(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    await scorer.approved("alpha")
    await scorer.started_full_test()
    another = (
        "insert into full_tests select gen_random_uuid(), status, started_by, started_at,"
        " runtime_version, cancelled_by, completed_at, under_way from full_tests"
    )
    open_again = "update validations set step = 'planning', stage = 'layer1', kind = 'full_test'"
    async with engine.connect() as connection:
        for duplicate in (another, open_again):
            with pytest.raises(IntegrityError, match="unique constraint"):
                await connection.execute(text(duplicate))
            await connection.rollback()
