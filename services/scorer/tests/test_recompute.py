"""Scores once more, from what is stored."""

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from assay_contracts.review import (
    CancelValidation,
    RevalidateSkill,
)
from assay_scorer.recompute import recompute
from assay_testkit.scorer_on_database import Scorer


async def test_every_stored_score_can_be_computed_again(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    skill = await scorer.validated("alpha")
    cancelled = await scorer.ask(RevalidateSkill(skill_id=skill.skill_id, actor="ann"))
    await scorer.start_queued()
    await scorer.ask(CancelValidation(skill_id=skill.skill_id, actor="ann"))
    assert await recompute(engine) == (2, [])
    async with engine.begin() as connection:
        await connection.execute(
            text(
                "update validations set document ="
                " jsonb_set(document, '{scores,overall}', '12.5') where id = :id"
            ),
            {"id": skill.validation_id},
        )
    compared, (line,) = await recompute(engine)
    assert compared == 2
    assert str(skill.validation_id) in line
    assert "12.5" in line
    assert "100.0" in line
    assert str(cancelled.validation_id) not in line
