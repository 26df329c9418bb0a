"""Approval on a real database: atomic, one after another, told once."""

import asyncio
from collections.abc import Awaitable
from typing import cast

import pytest
from sqlalchemy import CursorResult, Executable
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from assay_contracts.review import (
    ApproveReply,
    RevalidateSkill,
    SkillApproved,
)
from assay_contracts.rpc import (
    GetSkill,
    ProblemError,
)
from assay_contracts.runtime import (
    ListVersions,
    RuntimePromoted,
)
from assay_contracts.validations import KeepRequested
from assay_scorer.adapters.environments import Environments
from assay_scorer.adapters.runtime_versions import PostgresRuntimeVersionChanges
from assay_testkit.scorer import an_upload, approval_of, started, well_done
from assay_testkit.scorer_on_database import Scorer, refusal_code, said


async def test_approval_promotes_the_candidate_and_tells_once(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    skill = await scorer.validated("alpha")
    answer = await scorer.ask(approval_of(skill))
    assert (answer.status, answer.runtime_version) == ("approved", "v1.1")
    assert await scorer.status_of(skill.skill_id) == "approved"
    versions = await scorer.ask(ListVersions())
    assert versions.current_version == "v1.1"
    assert [(v.version, v.built_on, v.skill_name, v.is_current) for v in versions.versions] == [
        ("v1.1", "v1.0", "alpha", True),
        ("v1.0", None, None, False),
    ]
    (approved,) = map(SkillApproved.model_validate_json, await said(engine, "skill.approved"))
    assert (approved.skill_id, approved.actor) == (skill.skill_id, "ann")
    assert approved.validation_id == skill.validation_id
    (promoted,) = map(RuntimePromoted.model_validate_json, await said(engine, "runtime.promoted"))
    assert (promoted.version, promoted.built_on) == ("v1.1", "v1.0")
    (keep,) = map(KeepRequested.model_validate_json, await said(engine, "keep.requested"))
    assert keep.snapshots == (promoted.snapshot,)
    assert await refusal_code(scorer.ask(approval_of(skill))) == "INVALID_STATUS_TRANSITION"
    assert len(await said(engine, "skill.approved")) == 1


async def test_what_is_approved_is_there_for_the_next_validation(scorer: Scorer) -> None:
    first = await scorer.validated("alpha")
    await scorer.ask(approval_of(first))
    upload = await scorer.ask(an_upload("beta"))
    await scorer.start_queued()
    async with scorer.records.transaction() as transaction:
        validation = await transaction.lock_validation(started(upload))
    assert validation is not None
    assert validation.environment.runtime_version == 1
    assert validation.environment.snapshot == f"{first.validation_id}-1"
    (approved,) = validation.environment.approved
    assert (approved.skill_id, approved.name) == (first.skill_id, "alpha")
    assert [task.task_id for task in approved.tasks] == ["t1", "t2", "t3"]
    assert approved.grades == {"t1": 5, "t2": 5, "t3": 5}


class Interrupted:
    """A connection on which something happens elsewhere after the first statement."""

    def __init__(self, connection: AsyncConnection, meanwhile: Awaitable[object]) -> None:
        self._connection = connection
        self._meanwhile: Awaitable[object] | None = meanwhile

    async def execute(self, statement: Executable) -> CursorResult[*tuple[object, ...]]:
        result = await self._connection.execute(statement)
        if self._meanwhile is not None:
            meanwhile, self._meanwhile = self._meanwhile, None
            await meanwhile
        return result


async def test_a_version_and_the_skills_in_it_are_of_one_moment(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    await scorer.approved("alpha")
    beta = await scorer.validated("beta")
    async with engine.begin() as connection:
        interrupted = Interrupted(connection, scorer.ask(approval_of(beta)))
        transaction = PostgresRuntimeVersionChanges(
            cast("AsyncConnection", interrupted), Environments()
        )
        environments = [await transaction.current_environment() for _ in range(2)]
    assert [(each.runtime_version, len(each.approved)) for each in environments] == [(1, 1), (2, 2)]


async def test_a_broken_approved_skill_is_named_when_approval_is_refused(scorer: Scorer) -> None:
    await scorer.approved("alpha")
    await scorer.approved("beta")
    upload = await scorer.ask(an_upload("gamma"))
    await scorer.start_queued()
    await scorer.run_to_the_end(started(upload), beta=1)
    detail = await scorer.ask(GetSkill(skill_id=upload.skill_id))
    assert (detail.status, detail.validation_stage) == ("rejected", "failed")
    assert (detail.layer1_passed, detail.layer2_passed) == (True, False)
    with pytest.raises(ProblemError) as refused:
        await scorer.ask(approval_of(upload))
    assert refused.value.problem.code == "REGRESSION_FAILED"
    assert refused.value.problem.details.failed_skills == ("beta",)


async def test_of_two_approvals_at_once_one_is_told_to_revalidate(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    skills = [await scorer.validated(name) for name in ("alpha", "beta", "gamma")]
    answers = await asyncio.gather(
        *(scorer.ask(approval_of(skill)) for skill in skills), return_exceptions=True
    )
    (taken,) = [answer for answer in answers if isinstance(answer, ApproveReply)]
    refused = [answer for answer in answers if isinstance(answer, ProblemError)]
    assert taken.runtime_version == "v1.1"
    assert len(refused) == 2
    for error in refused:
        assert error.problem.code == "INVALID_STATUS_TRANSITION"
        assert "v1.0" in error.problem.message
        assert "Revalidate" in error.problem.message
    assert len(await said(engine, "runtime.promoted")) == 1

    again = next(skill for skill in skills if skill.skill_id != taken.skill_id)
    started = await scorer.ask(RevalidateSkill(skill_id=again.skill_id, actor="ann"))
    await scorer.start_queued()
    await scorer.run_to_the_end(started.validation_id)
    assert (await scorer.ask(approval_of(again))).runtime_version == "v1.2"
    assert (await scorer.ask(ListVersions())).current_version == "v1.2"


async def test_a_late_result_does_not_undo_an_approval(scorer: Scorer) -> None:
    upload = await scorer.ask(an_upload("alpha"))
    await scorer.start_queued()
    take = scorer.take
    await take(well_done((await scorer.open_work(started(upload)))[0]))
    (online,) = await scorer.open_work(started(upload))
    await scorer.run_to_the_end(started(upload))
    await scorer.ask(approval_of(upload))
    late = well_done(online).model_copy(update={"attempt": 2, "candidate": "another"})
    await take(late)
    assert await scorer.status_of(upload.skill_id) == "approved"
