"""What is asked again with one key happens once, on a real database."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from assay_contracts.base import Model
from assay_contracts.review import RejectReply, RejectSkill
from assay_contracts.rpc import Problem, ProblemError, Repeatable, Rpc
from assay_contracts.topology import GRANTS
from assay_scorer.adapters.idempotency import PostgresAnswers
from assay_scorer.adapters.records import PostgresRecords
from assay_scorer.use_cases.idempotency import Idempotent
from assay_scorer.workers.answer_expiry import ExpireAnswers
from assay_testkit.scorer import an_upload
from assay_testkit.scorer_on_database import Scorer

Rejecting = Callable[[RejectSkill], Awaitable[RejectReply]]

NOW = datetime(2026, 2, 20, tzinfo=UTC)


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
            await transaction.log_action(
                "rejected", asked.actor, NOW, details={"n": str(self.calls)}
            )
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
def reject(engine: AsyncEngine, use_case: UseCase) -> Rejecting:
    return Idempotent(answers=PostgresAnswers(engine))(use_case)


async def test_the_same_request_is_answered_alike_and_done_once(
    engine: AsyncEngine, reject: Rejecting, use_case: UseCase
) -> None:
    first = await reject(question("k"))
    # Another process: nothing is remembered but in the database.
    again = await Idempotent(answers=PostgresAnswers(engine))(use_case)(question("k"))
    assert first == again
    assert (use_case.calls, await effects(engine)) == (1, 1)
    assert (await reject(question("other"))).name == "call-2"
    assert (await reject(question(None))).name == "call-3"


async def test_many_at_once_with_one_key_have_one_effect_and_one_answer(
    engine: AsyncEngine, reject: Rejecting
) -> None:
    answers = await asyncio.gather(*(reject(question("k")) for _ in range(12)))
    assert len({answer.name for answer in answers}) == 1
    assert await effects(engine) == 1


async def test_another_request_with_the_same_key_is_refused(
    engine: AsyncEngine, reject: Rejecting
) -> None:
    await reject(question("k"))
    with pytest.raises(ProblemError) as refused:
        await reject(question("k", "Another reason."))
    assert refused.value.problem.code == "INVALID_REQUEST"
    assert await effects(engine) == 1


@pytest.mark.parametrize(
    ("code", "calls"), [("INVALID_STATUS_TRANSITION", 1), ("SERVICE_UNAVAILABLE", 2)]
)
async def test_a_final_refusal_stays_and_another_does_not(
    reject: Rejecting, use_case: UseCase, code: str, calls: int
) -> None:
    use_case.refusal = Problem.model_validate({"code": code, "message": "Not now."})
    for _ in range(2):
        with pytest.raises(ProblemError) as refused:
            await reject(question("k"))
        assert refused.value.problem == use_case.refusal
    assert use_case.calls == calls


async def test_an_answer_that_was_lost_is_not_made_up(
    engine: AsyncEngine, use_case: UseCase
) -> None:
    """The process died after the effect and before the answer was kept."""
    reject = Idempotent(answers=PostgresAnswers(engine), between_looks_s=0.001)(use_case)
    await reject(question("k"))
    async with engine.begin() as connection:
        await connection.execute(text("update answers set reply = null"))
    with pytest.raises(ProblemError) as refused:
        await reject(question("k"))
    assert refused.value.problem.code == "REQUEST_IN_PROGRESS"
    assert refused.value.problem.details.retry_after_s
    assert await effects(engine) == 1


async def test_a_key_is_free_again_after_a_day(engine: AsyncEngine, reject: Rejecting) -> None:
    await reject(question("k"))
    async with engine.begin() as connection:
        await connection.execute(text("update answers set at = at - interval '25 hours'"))
    assert (await reject(question("k", "Another reason."))).name == "call-2"
    later = ExpireAnswers(
        answers=PostgresAnswers(engine), clock=lambda: datetime.now(UTC) + timedelta(hours=25)
    )
    await later.sweep()
    async with engine.connect() as connection:
        assert await connection.scalar(text("select count(*) from answers")) == 0


async def test_an_upload_with_a_key_is_one_upload(scorer: Scorer) -> None:
    upload = an_upload().model_copy(update={"idempotency_key": "k"})
    first, second = await asyncio.gather(scorer.ask(upload), scorer.ask(upload))
    assert first == second == await scorer.ask(upload)
    other = an_upload("other", sha256="b" * 64)
    for key in ("k", None):
        same_id = other.model_copy(update={"idempotency_key": key, "upload_id": upload.upload_id})
        with pytest.raises(ProblemError) as refused:
            await scorer.ask(same_id)
        assert refused.value.problem.code == "INVALID_REQUEST"


def test_every_question_with_an_actor_may_be_asked_again() -> None:
    acting = {each for each in GRANTS["gateway"].asks if "actor" in each.model_fields}
    assert len(acting) == 8
    assert all(issubclass(each, Repeatable) for each in acting)
    assert all(issubclass(each, Rpc) and issubclass(each, Model) for each in acting)
