"""Full tests on a real database: all approved skills, each once, five at a time, told once."""

import asyncio
from uuid import UUID, uuid4

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncEngine

from assay_contracts.base import Work
from assay_contracts.full_tests import (
    CancelFullTest,
    FullTestCompleted,
    FullTestView,
    GetFullTest,
    ListFullTests,
    StartFullTest,
)
from assay_contracts.review import (
    DeleteSkill,
    ListAudit,
    RevalidateSkill,
)
from assay_contracts.rpc import (
    GetReport,
    GetSkill,
    GetStatus,
    ListValidations,
    ProblemError,
)
from assay_contracts.runs import RunRequested
from assay_contracts.runtime import RollbackRuntime
from assay_contracts.validations import (
    CleanupRequested,
    ValidationCompleted,
    ValidationRequested,
)
from assay_testkit.scorer import started, well_done
from assay_testkit.scorer_use_cases import Scorer, refusal_of, said

START = StartFullTest(actor="ann")


@pytest.fixture
def scorer(engine: AsyncEngine) -> Scorer:
    return Scorer(engine, max_active=2, max_full_test_skills=2)


async def begun(scorer: Scorer) -> FullTestView:
    view = await scorer.begin_full_test(START)
    await scorer.start_queued()
    return await scorer.find_full_test(GetFullTest(full_test_id=view.full_test_id))


async def finished(scorer: Scorer, full_test_id: UUID) -> FullTestView:
    """Answer all work of a full test well, those under way in turn."""
    take = scorer.take
    while True:
        view = await scorer.find_full_test(GetFullTest(full_test_id=full_test_id))
        work = [
            each for skill in view.skills for each in await scorer.open_work(skill.validation_id)
        ]
        if not work:
            return view
        for each in work:
            await take(well_done(each))


async def completions(engine: AsyncEngine) -> list[FullTestCompleted]:
    bodies = await said(engine, FullTestCompleted.SUBJECT)
    return [FullTestCompleted.model_validate_json(body) for body in bodies]


async def test_every_approved_skill_is_asked_its_stored_tasks_and_two_new_ones(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    for name in ("alpha", "beta", "gamma"):
        await scorer.approved(name)
    view = await begun(scorer)
    assert (view.status, view.runtime_version, view.started_by) == ("running", "v1.3", "ann")
    assert [skill.skill_name for skill in view.skills] == ["alpha", "beta", "gamma"]
    assert [skill.step for skill in view.skills] == ["planning", "planning", "queued"]

    view = await finished(scorer, view.full_test_id)
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
    (fact,) = await completions(engine)
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
    view = await begun(scorer)
    await finished(scorer, view.full_test_id)
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
    before = await scorer.find_status(GetStatus(skill_id=alpha.skill_id))
    view = await begun(scorer)
    assert await scorer.find_status(GetStatus(skill_id=alpha.skill_id)) == before
    view = await finished(scorer, view.full_test_id)
    assert await scorer.find_status(GetStatus(skill_id=alpha.skill_id)) == before

    detail = await scorer.find_skill(GetSkill(skill_id=alpha.skill_id))
    (tested,) = view.skills
    assert (detail.status, detail.validation_id) == ("approved", alpha.validation_id)
    assert detail.last_full_test_id == view.full_test_id
    assert detail.last_full_test_at == tested.completed_at
    assert detail.full_test_results == tested
    assert tested.scores_before == detail.scores

    history = await scorer.find_validations(ListValidations(skill_id=alpha.skill_id))
    assert [each.kind for each in history.validations] == ["full_test", "initial"]
    newest = await scorer.find_report(GetReport(skill_id=alpha.skill_id))
    assert newest.validation_id == alpha.validation_id
    asked = GetReport(skill_id=alpha.skill_id, validation_id=tested.validation_id)
    assert (await scorer.find_report(asked)).validation_id == tested.validation_id
    async with scorer.records.transaction() as transaction:
        environment = await transaction.current_environment()
    assert [len(skill.tasks) for skill in environment.approved] == [3]


async def test_each_skill_ends_in_one_completion_of_its_own(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    await scorer.approved("alpha")
    view = await begun(scorer)
    view = await finished(scorer, view.full_test_id)
    said_of_it = [
        completed
        for body in await said(engine, ValidationCompleted.SUBJECT)
        if (completed := ValidationCompleted.model_validate_json(body)).kind == "full_test"
    ]
    assert [each.validation_id for each in said_of_it] == [view.skills[0].validation_id]


async def test_without_approved_skills_it_completes_at_once(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    view = await scorer.begin_full_test(START)
    assert (view.status, view.counts.total, view.skills) == ("completed", 0, ())
    assert view.completed_at is not None
    assert [fact.full_test_id for fact in await completions(engine)] == [view.full_test_id]
    assert (await scorer.begin_full_test(START)).status == "completed"


async def test_of_many_started_at_once_one_is_taken_and_the_others_are_told_its_id(
    scorer: Scorer,
) -> None:
    await scorer.approved("alpha")
    answers = await asyncio.gather(
        *(scorer.begin_full_test(START) for _ in range(8)), return_exceptions=True
    )
    (taken,) = [answer for answer in answers if isinstance(answer, FullTestView)]
    refused = [answer for answer in answers if isinstance(answer, ProblemError)]
    assert len(refused) == 7
    assert {error.problem.code for error in refused} == {"VALIDATION_IN_PROGRESS"}
    assert {error.problem.details.full_test_id for error in refused} == {taken.full_test_id}
    await scorer.start_queued()
    await finished(scorer, taken.full_test_id)
    assert (await scorer.begin_full_test(START)).full_test_id != taken.full_test_id


async def test_fresh_uploads_never_wait_behind_a_full_test(scorer: Scorer) -> None:
    for name in ("alpha", "beta", "gamma"):
        await scorer.approved(name)
    await begun(scorer)
    replies = [await scorer.uploaded(f"fresh-{n}") for n in range(3)]
    steps = [
        (await scorer.find_status(GetStatus(skill_id=reply.skill_id))).step for reply in replies
    ]
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
    view = await begun(scorer)
    take, most = scorer.take, 0
    while view.status == "running":
        work: list[Work] = []
        for skill in view.skills:
            work += await scorer.open_work(skill.validation_id)
        most = max(most, len(work))
        # Each result twice, all at the same time.
        await asyncio.gather(*(take(well_done(each)) for each in (*work, *work)))
        view = await scorer.find_full_test(GetFullTest(full_test_id=view.full_test_id))
    assert most == 2
    assert view.counts.passed == 5
    assert len(await completions(engine)) == 1


async def test_a_cancelled_one_ends_all_its_skills_and_says_so_once(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    for name in ("alpha", "beta", "gamma", "delta"):
        await scorer.approved(name)
    view = await begun(scorer)
    await scorer.run_to_the_end(view.skills[0].validation_id)
    cancel = CancelFullTest(full_test_id=view.full_test_id, actor="bob")
    assert (await scorer.stop_full_test(cancel)).status == "cancelled"
    assert (await refusal_of(scorer.stop_full_test(cancel))).code == "INVALID_STATUS_TRANSITION"
    # Until all have ended, no other one may start: two would share the places.
    assert (await refusal_of(scorer.begin_full_test(START))).code == "VALIDATION_IN_PROGRESS"
    assert await completions(engine) == []
    await scorer.start_queued()
    await scorer.end_abandoned_tests()

    view = await scorer.find_full_test(GetFullTest(full_test_id=view.full_test_id))
    assert (view.status, view.completed_at is not None) == ("cancelled", True)
    assert [skill.verdict for skill in view.skills] == ["passed", *3 * ["inconclusive"]]
    assert view.skills[3].reason == "The full test was cancelled by bob; it was at: queued."
    (fact,) = await completions(engine)
    assert (fact.status, fact.counts.inconclusive) == ("cancelled", 3)
    audit = await scorer.read_audit(ListAudit(size=2))
    assert [(entry.action, entry.actor) for entry in audit.entries] == [
        ("full_test_cancelled", "bob"),
        ("full_test_started", "ann"),
    ]


async def test_a_deleted_skill_leaves_its_full_test_in_good_order(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    alpha, _ = await scorer.approved("alpha"), await scorer.approved("beta")
    view = await begun(scorer)
    await scorer.delete(DeleteSkill(skill_id=alpha.skill_id, actor="bob"))
    view = await finished(scorer, view.full_test_id)
    assert [(skill.skill_name, skill.verdict) for skill in view.skills] == [
        ("alpha", "inconclusive"),
        ("beta", "passed"),
    ]
    assert view.skills[0].reason == "The skill was deleted by bob; it was at: planning."
    assert view.status == "completed"
    assert len(await completions(engine)) == 1


async def test_deleting_the_last_skill_under_test_completes_it(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    alpha = await scorer.approved("alpha")
    view = await begun(scorer)
    take = scorer.take
    await take(well_done((await scorer.open_work(view.skills[0].validation_id))[0]))
    (run,) = await scorer.open_work(view.skills[0].validation_id)
    await scorer.delete(DeleteSkill(skill_id=alpha.skill_id, actor="bob"))
    (fact,) = await completions(engine)
    assert fact.status == "completed"
    # What a run leaves that was under way meanwhile belongs to nobody any more.
    assert isinstance(run, RunRequested)
    await take(well_done(run))
    cleanups = await said(engine, CleanupRequested.subject_in("background"))
    assert [CleanupRequested.model_validate_json(body).snapshots for body in cleanups] == [
        (run.capture,)
    ]


async def test_a_rollback_ends_the_parts_of_the_skills_it_hides(scorer: Scorer) -> None:
    await scorer.approved("alpha")
    beta = await scorer.approved("beta")
    view = await begun(scorer)
    await scorer.rollback(RollbackRuntime(target_version="v1.1", actor="bob"))
    # Validating it again need not wait until its part in the full test has ended.
    await scorer.revalidate(RevalidateSkill(skill_id=beta.skill_id, actor="bob"))
    await scorer.end_abandoned_tests()
    view = await finished(scorer, view.full_test_id)
    assert [(skill.skill_name, skill.verdict) for skill in view.skills] == [
        ("alpha", "passed"),
        ("beta", "inconclusive"),
    ]
    assert view.skills[1].reason is not None
    assert "a rollback hid it" in view.skills[1].reason
    status = await scorer.find_status(GetStatus(skill_id=beta.skill_id))
    assert (status.status, status.step) == ("validating", "planning")


async def test_all_skills_are_tested_on_the_version_it_began_with(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    for name in ("alpha", "beta", "gamma"):
        await scorer.approved(name)
    view = await begun(scorer)
    await scorer.approved("delta")
    view = await finished(scorer, view.full_test_id)
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
    view = await begun(scorer)
    for number in range(6):
        await scorer.approved(f"later-{number}")
    tested = f"{alpha.validation_id}-1"

    async def dropped() -> bool:
        bodies = await said(engine, CleanupRequested.SUBJECT)
        return any(
            tested in CleanupRequested.model_validate_json(each).snapshots for each in bodies
        )

    assert not await dropped()
    await finished(scorer, view.full_test_id)
    await scorer.approved("last")
    assert await dropped()


async def test_what_got_worse_is_marked_with_what_changed_since(scorer: Scorer) -> None:
    await scorer.approved("alpha")
    await scorer.approved("beta")
    view = await begun(scorer)
    await scorer.run_to_the_end(view.skills[0].validation_id, alpha=3)
    view = await finished(scorer, view.full_test_id)
    alpha, beta = view.skills
    assert (alpha.worse, beta.worse, view.counts.worse) == (True, False, 1)
    assert alpha.changes[:2] == (
        "Task t1, online: graded 5 then, 3 now.",
        "Task t2, online: graded 5 then, 3 now.",
    )
    assert "Runtime version v1.0 → v1.2." in alpha.changes
    assert "Approved since: beta." in alpha.changes
    assert beta.changes == ()

    # The next one is compared with this one.
    again = await begun(scorer)
    await scorer.run_to_the_end(again.skills[0].validation_id, alpha=3)
    again = await finished(scorer, again.full_test_id)
    assert again.skills[0].scores_before == alpha.scores
    assert again.counts.worse == 0


async def test_full_tests_are_listed_newest_first_and_unknown_ones_are_said_so(
    scorer: Scorer,
) -> None:
    first, second = await scorer.begin_full_test(START), await scorer.begin_full_test(START)
    page = await scorer.find_full_tests(ListFullTests(size=1))
    assert (page.total, [each.full_test_id for each in page.full_tests]) == (
        2,
        [second.full_test_id],
    )
    older = await scorer.find_full_tests(ListFullTests(page=2, size=1))
    assert [each.full_test_id for each in older.full_tests] == [first.full_test_id]
    unknown = GetFullTest(full_test_id=uuid4())
    assert (await refusal_of(scorer.find_full_test(unknown))).code == "FULL_TEST_NOT_FOUND"
    cancel = CancelFullTest(full_test_id=uuid4(), actor="ann")
    assert (await refusal_of(scorer.stop_full_test(cancel))).code == "FULL_TEST_NOT_FOUND"


async def test_only_one_part_of_a_skill_and_only_one_full_test_can_be_open(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    await scorer.approved("alpha")
    await begun(scorer)
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
