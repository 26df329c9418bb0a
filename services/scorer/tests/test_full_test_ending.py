"""How full tests end: in their time, cancelled, or with a skill that is gone."""

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from assay_contracts.full_tests import (
    CancelFullTest,
    GetFullTest,
    StartFullTest,
)
from assay_contracts.review import (
    DeleteSkill,
    ListAudit,
    RevalidateSkill,
)
from assay_contracts.rpc import (
    GetStatus,
)
from assay_contracts.runs import RunRequested
from assay_contracts.runtime import RollbackRuntime
from assay_contracts.validations import (
    CleanupRequested,
    ValidationCompleted,
)
from assay_testkit.scorer import well_done
from assay_testkit.scorer_on_database import Scorer, full_test_completions, refusal_of, said

START = StartFullTest(actor="ann")


@pytest.fixture
def scorer(engine: AsyncEngine) -> Scorer:
    return Scorer(engine, max_active=2, max_full_test_skills=2)


async def test_each_skill_ends_in_one_completion_of_its_own(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    await scorer.approved("alpha")
    view = await scorer.started_full_test()
    view = await scorer.finished_full_test(view.full_test_id)
    said_of_it = [
        completed
        for body in await said(engine, ValidationCompleted.SUBJECT)
        if (completed := ValidationCompleted.model_validate_json(body)).kind == "full_test"
    ]
    assert [each.validation_id for each in said_of_it] == [view.skills[0].validation_id]


async def test_without_approved_skills_it_completes_at_once(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    view = await scorer.ask(START)
    assert (view.status, view.counts.total, view.skills) == ("completed", 0, ())
    assert view.completed_at is not None
    assert [fact.full_test_id for fact in await full_test_completions(engine)] == [
        view.full_test_id
    ]
    assert (await scorer.ask(START)).status == "completed"


async def test_a_cancelled_one_ends_all_its_skills_and_says_so_once(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    for name in ("alpha", "beta", "gamma", "delta"):
        await scorer.approved(name)
    view = await scorer.started_full_test()
    await scorer.run_to_the_end(view.skills[0].validation_id)
    cancel = CancelFullTest(full_test_id=view.full_test_id, actor="bob")
    assert (await scorer.ask(cancel)).status == "cancelled"
    assert (await refusal_of(scorer.ask(cancel))).code == "INVALID_STATUS_TRANSITION"
    # Until all have ended, no other one may start: two would share the places.
    assert (await refusal_of(scorer.ask(START))).code == "VALIDATION_IN_PROGRESS"
    assert await full_test_completions(engine) == []
    await scorer.start_queued()
    await scorer.end_abandoned_tests()

    view = await scorer.ask(GetFullTest(full_test_id=view.full_test_id))
    assert (view.status, view.completed_at is not None) == ("cancelled", True)
    assert [skill.verdict for skill in view.skills] == ["passed", *3 * ["inconclusive"]]
    assert view.skills[3].reason == "The full test was cancelled by bob; it was at: queued."
    (fact,) = await full_test_completions(engine)
    assert (fact.status, fact.counts.inconclusive) == ("cancelled", 3)
    audit = await scorer.ask(ListAudit(size=2))
    assert [(entry.action, entry.actor) for entry in audit.entries] == [
        ("full_test_cancelled", "bob"),
        ("full_test_started", "ann"),
    ]


async def test_a_deleted_skill_leaves_its_full_test_in_good_order(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    alpha, _ = await scorer.approved("alpha"), await scorer.approved("beta")
    view = await scorer.started_full_test()
    await scorer.ask(DeleteSkill(skill_id=alpha.skill_id, actor="bob"))
    view = await scorer.finished_full_test(view.full_test_id)
    assert [(skill.skill_name, skill.verdict) for skill in view.skills] == [
        ("alpha", "inconclusive"),
        ("beta", "passed"),
    ]
    assert view.skills[0].reason == "The skill was deleted by bob; it was at: planning."
    assert view.status == "completed"
    assert len(await full_test_completions(engine)) == 1


async def test_deleting_the_last_skill_under_test_completes_it(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    alpha = await scorer.approved("alpha")
    view = await scorer.started_full_test()
    take = scorer.take
    await take(well_done((await scorer.open_work(view.skills[0].validation_id))[0]))
    (run,) = await scorer.open_work(view.skills[0].validation_id)
    await scorer.ask(DeleteSkill(skill_id=alpha.skill_id, actor="bob"))
    (fact,) = await full_test_completions(engine)
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
    view = await scorer.started_full_test()
    await scorer.ask(RollbackRuntime(target_version="v1.1", actor="bob"))
    # Validating it again need not wait until its part in the full test has ended.
    await scorer.ask(RevalidateSkill(skill_id=beta.skill_id, actor="bob"))
    await scorer.end_abandoned_tests()
    view = await scorer.finished_full_test(view.full_test_id)
    assert [(skill.skill_name, skill.verdict) for skill in view.skills] == [
        ("alpha", "passed"),
        ("beta", "inconclusive"),
    ]
    assert view.skills[1].reason is not None
    assert "a rollback hid it" in view.skills[1].reason
    status = await scorer.ask(GetStatus(skill_id=beta.skill_id))
    assert (status.status, status.step) == ("validating", "planning")


async def test_what_got_worse_is_marked_with_what_changed_since(scorer: Scorer) -> None:
    await scorer.approved("alpha")
    await scorer.approved("beta")
    view = await scorer.started_full_test()
    await scorer.run_to_the_end(view.skills[0].validation_id, alpha=3)
    view = await scorer.finished_full_test(view.full_test_id)
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
    again = await scorer.started_full_test()
    await scorer.run_to_the_end(again.skills[0].validation_id, alpha=3)
    again = await scorer.finished_full_test(again.full_test_id)
    assert again.skills[0].scores_before == alpha.scores
    assert again.counts.worse == 0
