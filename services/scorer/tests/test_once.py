"""What is asked again with one key happens once, on a real database."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from assay_contracts.base import Model
from assay_contracts.review import RejectReply, RejectSkill
from assay_contracts.rpc import Problem, ProblemError, RegisterReply, Repeatable, Rpc
from assay_contracts.topology import GRANTS
from assay_scorer.adapters.answers import PostgresAnswers
from assay_scorer.adapters.migrate import migrate
from assay_scorer.adapters.records import PostgresRecords, open_engine
from assay_scorer.once import Once
from assay_testkit.scorer import an_upload

Rejecting = Callable[[RejectSkill], Awaitable[RejectReply]]

NOW = datetime(2026, 2, 20, tzinfo=UTC)


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[AsyncEngine]:
    engine = open_engine(database_url)
    await migrate(engine)
    yield engine
    await engine.dispose()


def question(key: str | None, reason: str = "No.") -> RejectSkill:
    return RejectSkill(skill_id=SKILL, actor="ann", reason=reason, idempotency_key=key)


SKILL = uuid4()


class UseCase:
    """Writes one audit entry each time it is carried out, or is refused."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._records = PostgresRecords(engine)
        self.refusal: Problem | None = None
        self.calls = 0

    async def __call__(self, asked: RejectSkill) -> RejectReply:
        self.calls += 1
        async with self._records.transaction() as transaction:
            await transaction.note("rejected", asked.actor, NOW, details={"n": str(self.calls)})
            if self.refusal is not None:
                raise ProblemError(self.refusal)
        return RejectReply(
            skill_id=asked.skill_id,
            name=f"call-{self.calls}",
            status="rejected",
            reject_reason=asked.reason,
            rejected_at=NOW,
        )


async def effects(engine: AsyncEngine) -> int:
    async with engine.connect() as connection:
        return int(await connection.scalar(text("select count(*) from audit_log")) or 0)


@pytest.fixture
def use_case(engine: AsyncEngine) -> UseCase:
    return UseCase(engine)


@pytest.fixture
def once(engine: AsyncEngine, use_case: UseCase) -> Rejecting:
    return Once(answers=PostgresAnswers(engine))(use_case)


async def test_the_same_request_is_answered_alike_and_done_once(
    engine: AsyncEngine, once: Rejecting, use_case: UseCase
) -> None:
    first = await once(question("k"))
    # Another process: nothing is remembered but in the database.
    again = await Once(answers=PostgresAnswers(engine))(use_case)(question("k"))
    assert first == again
    assert (use_case.calls, await effects(engine)) == (1, 1)
    assert (await once(question("other"))).name == "call-2"
    assert (await once(question(None))).name == "call-3"


async def test_many_at_once_with_one_key_have_one_effect_and_one_answer(
    engine: AsyncEngine, once: Rejecting
) -> None:
    answers = await asyncio.gather(*(once(question("k")) for _ in range(12)))
    assert len({answer.name for answer in answers}) == 1
    assert await effects(engine) == 1


async def test_another_request_with_the_same_key_is_refused(
    engine: AsyncEngine, once: Rejecting
) -> None:
    await once(question("k"))
    with pytest.raises(ProblemError) as refused:
        await once(question("k", "Another reason."))
    assert refused.value.problem.code == "INVALID_REQUEST"
    assert await effects(engine) == 1


@pytest.mark.parametrize(
    ("code", "calls"), [("INVALID_STATUS_TRANSITION", 1), ("SERVICE_UNAVAILABLE", 2)]
)
async def test_a_final_refusal_stays_and_another_does_not(
    once: Rejecting, use_case: UseCase, code: str, calls: int
) -> None:
    use_case.refusal = Problem.model_validate({"code": code, "message": "Not now."})
    for _ in range(2):
        with pytest.raises(ProblemError) as refused:
            await once(question("k"))
        assert refused.value.problem == use_case.refusal
    assert use_case.calls == calls


async def test_an_answer_that_was_lost_is_not_made_up(engine: AsyncEngine, once: Rejecting) -> None:
    """The process died after the effect and before the answer was kept."""
    await once(question("k"))
    async with engine.begin() as connection:
        await connection.execute(text("update answers set reply = null"))
    with pytest.raises(ProblemError) as refused:
        await once(question("k"))
    assert refused.value.problem.code == "REQUEST_IN_PROGRESS"
    assert refused.value.problem.details.retry_after_s
    assert await effects(engine) == 1


async def test_a_key_is_free_again_after_a_day(engine: AsyncEngine, once: Rejecting) -> None:
    await once(question("k"))
    async with engine.begin() as connection:
        await connection.execute(text("update answers set at = at - interval '25 hours'"))
    assert (await once(question("k", "Another reason."))).name == "call-2"
    await PostgresAnswers(engine).sweep(datetime.now(UTC) + timedelta(hours=25))
    async with engine.connect() as connection:
        assert await connection.scalar(text("select count(*) from answers")) == 0


async def test_an_upload_with_a_key_is_one_upload(engine: AsyncEngine) -> None:
    records = PostgresRecords(engine)

    async def register(upload: Rpc[RegisterReply]) -> RegisterReply:
        return await records.register(upload, NOW)  # type: ignore[arg-type]  # it is one

    once = Once(answers=PostgresAnswers(engine))(register)
    upload = an_upload().model_copy(update={"idempotency_key": "k"})
    first, second = await asyncio.gather(once(upload), once(upload))
    assert first == second == await once(upload)
    other = an_upload("other", sha256="b" * 64)
    for key in ("k", None):
        same_id = other.model_copy(update={"idempotency_key": key, "upload_id": upload.upload_id})
        with pytest.raises(ProblemError) as refused:
            await once(same_id)
        assert refused.value.problem.code == "INVALID_REQUEST"


def test_every_question_with_an_actor_may_be_asked_again() -> None:
    acting = {each for each in GRANTS["gateway"].asks if "actor" in each.model_fields}
    assert len(acting) == 8
    assert all(issubclass(each, Repeatable) for each in acting)
    assert all(issubclass(each, Rpc) and issubclass(each, Model) for each in acting)
