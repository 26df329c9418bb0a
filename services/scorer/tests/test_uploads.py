"""Uploads on a real database: one skill for a name, and who may upload it again."""

import asyncio

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from assay_contracts.rpc import (
    GetBundle,
    GetReport,
    GetSkill,
    GetStatus,
    ListSkills,
    ListValidations,
    ProblemError,
    RegisterReply,
)
from assay_testkit.scorer import an_upload
from assay_testkit.scorer_on_database import Scorer, said


async def test_an_upload_is_recorded_announced_and_started(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    reply = await scorer.upload(an_upload())
    assert len(await said(engine, "skill.uploaded")) == 1
    assert len(await said(engine, "validation.requested")) == 1
    detail = await scorer.ask(GetSkill(skill_id=reply.skill_id))
    assert (detail.name, detail.status, detail.validation_stage) == (
        "csv-analyzer",
        "validating",
        "layer1",
    )


async def test_the_same_upload_twice_is_one_upload(engine: AsyncEngine, scorer: Scorer) -> None:
    upload = an_upload()
    first, second = await scorer.upload(upload), await scorer.upload(upload)
    assert (second.skill_id, second.validation_id) == (first.skill_id, first.validation_id)
    assert len(await said(engine, "skill.uploaded")) == 1


async def test_of_many_uploads_of_one_name_one_is_taken(scorer: Scorer) -> None:
    answers = await asyncio.gather(
        *(scorer.upload(an_upload()) for _ in range(12)), return_exceptions=True
    )
    taken = [answer for answer in answers if isinstance(answer, RegisterReply)]
    refused = [answer for answer in answers if isinstance(answer, ProblemError)]
    assert (len(taken), len(refused)) == (1, 11)
    assert {error.problem.code for error in refused} == {"SKILL_ALREADY_EXISTS"}
    assert {error.problem.details.skill_id for error in refused} == {taken[0].skill_id}


async def test_identical_content_is_recognised(scorer: Scorer) -> None:
    first = await scorer.upload(an_upload(sha256="1" * 64))
    for sha256, same_as in (("1" * 64, 1), ("2" * 64, None)):
        with pytest.raises(ProblemError) as refused:
            await scorer.upload(an_upload(sha256=sha256))
        problem = refused.value.problem
        assert problem.code == "SKILL_ALREADY_EXISTS"
        assert problem.details.skill_id == first.skill_id
        assert problem.details.same_as_revision == same_as
        assert ("This very content" in problem.message) == (same_as is not None)


async def test_a_rejected_skill_may_come_again_as_its_next_revision(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    contents = ("1" * 64, "2" * 64, "1" * 64)
    replies = []
    for sha256 in contents:
        replies.append(await scorer.upload(an_upload(sha256=sha256)))
        await scorer.fail(replies[-1])
    assert len({reply.skill_id for reply in replies}) == 1
    assert [(reply.revision, reply.same_as_revision) for reply in replies] == [
        (1, None),
        (2, None),
        (3, 1),
    ]
    detail = await scorer.ask(GetSkill(skill_id=replies[0].skill_id))
    assert (detail.revision, detail.status, detail.bundle_sha256) == (3, "rejected", "1" * 64)
    async with engine.connect() as connection:
        kept = await connection.scalars(
            text("select revision from validations where verdict = 'failed' order by revision")
        )
        assert list(kept) == [1, 2, 3]
    bundle = await scorer.ask(GetBundle(skill_id=replies[0].skill_id))
    assert (bundle.revision, bundle.bundle.sha256) == (3, "1" * 64)


async def test_of_many_next_revisions_at_once_one_is_taken(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    await scorer.fail(await scorer.upload(an_upload()))
    upload = an_upload()
    answers = await asyncio.gather(
        *(scorer.upload(an_upload()) for _ in range(4)),
        *(scorer.upload(upload) for _ in range(4)),
        return_exceptions=True,
    )
    taken = [answer for answer in answers if isinstance(answer, RegisterReply)]
    assert {reply.revision for reply in taken} == {2}
    assert len({reply.validation_id for reply in taken}) == 1


async def test_an_upload_that_is_not_to_be_validated_waits_until_somebody_asks(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    upload = an_upload(start_validation=False)
    reply = await scorer.upload(upload)
    assert (reply.status, reply.validation_id) == ("pending", None)
    assert await scorer.upload(upload) == reply
    assert len(await said(engine, "skill.uploaded")) == 1
    assert await said(engine, "validation.requested") == []
    (listed,) = (await scorer.ask(ListSkills())).skills
    assert (listed.skill_id, listed.status, listed.validation_stage) == (
        reply.skill_id,
        "pending",
        None,
    )
    detail = await scorer.ask(GetSkill(skill_id=reply.skill_id))
    assert (detail.revision, detail.validation_id, detail.verdict) == (1, None, None)
    status = await scorer.ask(GetStatus(skill_id=reply.skill_id))
    assert (status.status, status.step, status.progress) == ("pending", None, 0.0)
    history = await scorer.ask(ListValidations(skill_id=reply.skill_id))
    assert (history.validations, history.total) == ((), 0)
    with pytest.raises(ProblemError) as refused:
        await scorer.ask(GetReport(skill_id=reply.skill_id))
    assert refused.value.problem.code == "VALIDATION_NOT_COMPLETED"
    assert "has not been validated" in refused.value.problem.message


async def test_a_revision_that_is_not_validated_shows_nothing_of_the_one_before(
    scorer: Scorer,
) -> None:
    first = await scorer.upload(an_upload(sha256="1" * 64))
    await scorer.fail(first)
    second = await scorer.upload(an_upload(sha256="2" * 64, start_validation=False))
    assert (second.skill_id, second.revision, second.status) == (first.skill_id, 2, "pending")
    detail = await scorer.ask(GetSkill(skill_id=first.skill_id))
    assert (detail.revision, detail.status, detail.verdict, detail.scores) == (
        2,
        "pending",
        None,
        None,
    )
    history = await scorer.ask(ListValidations(skill_id=first.skill_id))
    assert [(each.revision, each.verdict) for each in history.validations] == [(1, "failed")]
