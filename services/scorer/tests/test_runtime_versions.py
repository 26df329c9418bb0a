"""Runtime versions on a real database: rolled back and forward, and the newest few kept."""

from sqlalchemy.ext.asyncio import AsyncEngine

from assay_contracts.review import (
    RevalidateSkill,
)
from assay_contracts.runtime import (
    ListVersions,
    RollbackRuntime,
    RuntimeRolledBack,
)
from assay_contracts.validations import CleanupRequested
from assay_testkit.scorer import approval_of
from assay_testkit.scorer_on_database import Scorer, refusal_code, said


def rollback(version: str, *, dry_run: bool = False) -> RollbackRuntime:
    return RollbackRuntime(target_version=version, actor="ann", dry_run=dry_run)


async def test_rollback_hides_what_came_later_and_rolling_forward_shows_it_again(
    engine: AsyncEngine, scorer: Scorer
) -> None:
    skills = {}
    for name in ("alpha", "beta", "gamma", "delta"):
        skills[name] = await scorer.validated(name)
        await scorer.ask(approval_of(skills[name]))

    async def shown() -> set[str]:
        return {
            name
            for name, skill in skills.items()
            if await scorer.status_of(skill.skill_id) == "approved"
        }

    told = await scorer.ask(rollback("v1.2", dry_run=True))
    assert (told.previous_version, told.current_version) == ("v1.4", "v1.2")
    assert (told.hidden_skills, told.restored_skills) == (("delta", "gamma"), ())
    assert await shown() == set(skills)
    assert await said(engine, "runtime.rolled-back") == []

    back = await scorer.ask(rollback("v1.2"))
    assert (back.previous_version, back.current_version) == ("v1.4", "v1.2")
    assert back.hidden_skills == ("delta", "gamma")
    assert await shown() == {"alpha", "beta"}
    assert await scorer.status_of(skills["gamma"].skill_id) == "rollback_pending"
    (fact,) = map(RuntimeRolledBack.model_validate_json, await said(engine, "runtime.rolled-back"))
    assert (fact.current_version, fact.hidden_skills) == ("v1.2", ("delta", "gamma"))

    forward = await scorer.ask(rollback("v1.3"))
    assert (forward.hidden_skills, forward.restored_skills) == ((), ("gamma",))
    assert await shown() == {"alpha", "beta", "gamma"}

    again = skills["delta"]
    started = await scorer.ask(RevalidateSkill(skill_id=again.skill_id, actor="ann"))
    await scorer.start_queued()
    await scorer.run_to_the_end(started.validation_id)
    assert (await scorer.ask(approval_of(again))).runtime_version == "v1.5"
    versions = await scorer.ask(ListVersions())
    assert versions.versions[0].built_on == "v1.3"
    assert (await scorer.ask(rollback("v1.0"))).hidden_skills == (
        "alpha",
        "beta",
        "delta",
        "gamma",
    )


async def test_a_rollback_to_what_is_not_there_is_refused(scorer: Scorer) -> None:
    assert await refusal_code(scorer.ask(rollback("v1.7"))) == "IMAGE_NOT_FOUND"
    assert await refusal_code(scorer.ask(rollback("v1.0"))) == "INVALID_STATUS_TRANSITION"


async def test_the_sixth_version_deletes_the_first(engine: AsyncEngine, scorer: Scorer) -> None:
    first = await scorer.validated("skill-1")
    await scorer.ask(approval_of(first))
    for number in range(2, 7):
        await scorer.approved(f"skill-{number}")
    versions = (await scorer.ask(ListVersions())).versions
    assert [v.version for v in versions if not v.is_available] == ["v1.1"]
    (cleanup,) = map(CleanupRequested.model_validate_json, await said(engine, "cleanup.requested"))
    assert cleanup.snapshots == (f"{first.validation_id}-1",)
    assert await refusal_code(scorer.ask(rollback("v1.1"))) == "IMAGE_NOT_FOUND"
